/* page.c: a page of HTML: its frame, sections, texts and tables. */
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "report/page.h"

int brim_page_new(brim_runtime *runtime, const char *title, brim_page **out, brim_error *err) {
  BRIM_OUT(err, out);
  BRIM_GIVEN(err, runtime, title);
  brim_page *page = brim_alloc_zero(runtime, sizeof *page);
  if (!page)
    return BRIM_NOMEM(err);
  page->runtime = runtime;
  brim_text_init(&page->out, runtime);
  page->title = brim_copy_string(runtime, title, strlen(title));
  if (page->title)
    return *out = page, BRIM_OK;
  brim_page_free(page);
  return BRIM_NOMEM(err);
}

void brim_page_free(brim_page *page) {
  if (!page)
    return;
  brim_text_free(&page->out);
  brim_release(page->runtime, page->title);
  brim_release(page->runtime, page);
}

static void put_head(brim_text *out, const char *title) {
  brim_text_string(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                        "<meta name=\"color-scheme\" content=\"light dark\">\n"
                        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
                        "img-src data:\">\n"
                        "<link rel=\"icon\" href=\"data:,\">\n<title>");
  brim_markup_string(out, title);
  brim_text_string(out, "</title>\n<style>\n");
  brim_text_string(out, brim_page_style);
  brim_text_string(out, "</style>\n</head>\n<body>\n<main>\n<h1><bdi>");
  brim_markup_string(out, title);
  brim_text_string(out, "</bdi></h1>\n");
}

static void put_page(const brim_page *page, brim_text *out) {
  put_head(out, page->title);
  if (page->out.length)
    brim_text_append(out, page->out.data, page->out.length);
  if (page->in_grid)
    brim_text_string(out, "</div>\n");
  brim_text_printf(out, "</main>\n<footer>brim %s</footer>\n</body>\n</html>\n", brim_version());
}

static int write_page(const brim_page *page, const char *path, bool own, brim_error *err) {
  brim_text whole;
  brim_text_init(&whole, page->runtime);
  put_page(page, &whole);
  int status = brim_text_status(&page->out, err);
  if (!status)
    status = brim_text_status(&whole, err);
  if (!status)
    status = (own ? brim_file_write_own : brim_file_write_all)(page->runtime, path, whole.data, whole.length, err);
  brim_text_free(&whole);
  return status;
}

int brim_page_write(brim_page *page, const char *path, brim_error *err) {
  BRIM_GIVEN(err, page, path);
  return write_page(page, path, false, err);
}

int brim_page_write_own(brim_page *page, const char *path, brim_error *err) {
  BRIM_GIVEN(err, page, path);
  return write_page(page, path, true, err);
}

/* What is no picture has its own line. */
static brim_text *leave_grid(brim_page *page) {
  if (page->in_grid)
    brim_text_string(&page->out, "</div>\n");
  page->in_grid = false;
  return &page->out;
}

static void put_element(brim_page *page, const char *open, const char *text, const char *close) {
  brim_text *out = leave_grid(page);
  brim_text_string(out, open);
  brim_markup_string(out, text);
  brim_text_string(out, close);
}

void brim_page_section(brim_page *page, const char *title) {
  put_element(page, "<h2><bdi>", title, "</bdi></h2>\n");
}

void brim_page_text(brim_page *page, const char *text) {
  put_element(page, "<p>", text, "</p>\n");
}

void brim_page_advice(brim_page *page, const char *text) {
  put_element(page, "<p class=\"advice\">", text, "</p>\n");
}

void brim_page_passage(brim_page *page, const char *caption, const char *text, size_t length) {
  put_element(page, "<figure class=\"passage\"><figcaption><bdi>", caption,
              "</bdi></figcaption><blockquote dir=\"auto\" tabindex=\"0\">");
  brim_markup(&page->out, text, length);
  brim_text_string(&page->out, "</blockquote></figure>\n");
}

void brim_page_figures(brim_page *page, const char *const *names, const char *const *values, int count) {
  brim_text *out = leave_grid(page);
  brim_text_string(out, "<dl class=\"figures\">\n");
  for (int i = 0; i < count; i++) {
    brim_text_string(out, "<div><dt>");
    brim_markup_string(out, names[i]);
    brim_text_string(out, "</dt><dd><bdi>");
    brim_markup_string(out, values[i]);
    brim_text_string(out, "</bdi></dd></div>\n");
  }
  brim_text_string(out, "</dl>\n");
}

/* ---- tables ----------------------------------------------------------------------------------------------- */

static void put_row(brim_text *out, const brim_column *columns, int count, const char *const *cells) {
  brim_text_string(out, "<tr>");
  for (int i = 0; i < count; i++) {
    brim_text_string(out, i == 0 ? "<th scope=\"row\"" : "<td");
    brim_text_string(out, columns[i].right ? " class=\"n\"><bdi>" : "><bdi>");
    brim_markup_string(out, cells[i]);
    brim_text_string(out, i == 0 ? "</bdi></th>" : "</bdi></td>");
  }
  brim_text_string(out, "</tr>\n");
}

void brim_table_markup(brim_text *out, const char *caption, const brim_column *columns, int column_count,
                       const char *const *cells, int row_count) {
  brim_text_string(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
  brim_markup_string(out, caption ? caption : "table");
  brim_text_string(out, "\"><table>\n");
  if (caption) {
    brim_text_string(out, "<caption>");
    brim_markup_string(out, caption);
    brim_text_string(out, "</caption>\n");
  }
  brim_text_string(out, "<thead><tr>");
  for (int i = 0; i < column_count; i++) {
    brim_text_printf(out, "<th scope=\"col\"%s>", columns[i].right ? " class=\"n\"" : "");
    brim_markup_string(out, columns[i].title);
    brim_text_string(out, "</th>");
  }
  brim_text_string(out, "</tr></thead>\n<tbody>\n");
  for (int row = 0; row < row_count; row++)
    put_row(out, columns, column_count, cells + row * column_count);
  brim_text_string(out, "</tbody></table></div>\n");
}

void brim_page_table(brim_page *page, const char *caption, const brim_column *columns, int column_count, const char *const *cells,
                     int row_count) {
  brim_table_markup(leave_grid(page), caption, columns, column_count, cells, row_count);
}

/* ---- pictures --------------------------------------------------------------------------------------------- */

enum { COLORS = 6 };

int brim_picture_color(int index) {
  return index % COLORS;
}

void brim_picture_open(brim_page *page, brim_caption caption, int height) {
  brim_text *out = &page->out;
  const int id = ++page->pictures;
  if (!page->in_grid)
    brim_text_string(out, "<div class=\"grid\">\n");
  page->in_grid = true;
  brim_text_string(out, "<figure><figcaption><bdi>");
  brim_markup_string(out, caption.title);
  brim_text_printf(out,
                   "</bdi></figcaption>\n<svg viewBox=\"0 0 %d %d\" role=\"img\" aria-labelledby=\"t%d d%d\">"
                   "<title id=\"t%d\">",
                   PICTURE_WIDTH, height, id, id, id);
  brim_markup_string(out, caption.title);
  brim_text_printf(out, "</title><desc id=\"d%d\">", id);
  brim_markup_string(out, caption.description ? caption.description : "The numbers follow as a table.");
  brim_text_string(out, "</desc>\n");
}

void brim_picture_legend(brim_page *page, const char *const *names, int count) {
  brim_text *out = &page->out;
  brim_text_string(out, "<ul class=\"legend\">");
  for (int i = 0; i < count; i++) {
    brim_text_printf(
        out,
        "<li><svg class=\"key\" viewBox=\"0 0 24 8\" aria-hidden=\"true\"><path class=\"l c%d\" d=\"M1 4H23\"/></svg> "
        "<bdi>",
        brim_picture_color(i));
    brim_markup_string(out, names[i]);
    brim_text_string(out, "</bdi></li>");
  }
  brim_text_string(out, "</ul>\n");
}

void brim_picture_numbers(brim_page *page) {
  brim_text_string(&page->out, "<details><summary>Numbers</summary>\n");
}

void brim_picture_close(brim_page *page) {
  brim_text_string(&page->out, "</details></figure>\n");
}

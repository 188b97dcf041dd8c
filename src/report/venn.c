/* venn.c: two sets as circles. */
#include <math.h>

#include "report/page.h"

enum { VENN_HEIGHT = 200, VENN_MIDDLE = 106, VENN_RADIUS = 78 };

/* Area that two circles have in common at distance d of their centres. */
static double lens(double r, double s, double d) {
  const double pi = 3.14159265358979323846;
  if (d >= r + s)
    return 0;
  if (d <= fabs(r - s))
    return pi * fmin(r, s) * fmin(r, s);
  const double a = acos((d * d + r * r - s * s) / (2 * d * r)), b = acos((d * d + s * s - r * r) / (2 * d * s));
  return r * r * (a - sin(2 * a) / 2) + s * s * (b - sin(2 * b) / 2);
}

/* The distance at which the common area is `area`. */
static double distance_for(double r, double s, double area) {
  double low = fabs(r - s), high = r + s;
  for (int i = 0; i < 60; i++) {
    const double middle = (low + high) / 2;
    if (lens(r, s, middle) > area)
      low = middle;
    else
      high = middle;
  }
  return (low + high) / 2;
}

static void put_count(brim_text *out, const char *class, double x, int y, uint64_t count) {
  char text[32];
  brim_count_text((int64_t)count, text, sizeof text);
  brim_text_printf(out, "<text class=\"%s\" x=\"%.1f\" y=\"%d\">%s</text>", class, x, y, text);
}

static void put_numbers(brim_page *page, const brim_venn *venn) {
  const brim_column columns[] = {{"set", false}, {"count", true}};
  char text[3][32], only[2][160];
  const uint64_t counts[] = {venn->left_only, venn->both, venn->right_only};
  for (int i = 0; i < 3; i++)
    brim_count_text((int64_t)counts[i], text[i], sizeof text[i]);
  snprintf(only[0], sizeof only[0], "%s only", venn->left);
  snprintf(only[1], sizeof only[1], "%s only", venn->right);
  const char *cells[] = {only[0], text[0], "both", text[1], only[1], text[2]};
  brim_table_markup(&page->out, NULL, columns, 2, cells, 3);
}

void brim_page_venn(brim_page *page, brim_caption caption, const brim_venn *venn) {
  brim_text *out = &page->out;
  const double left = (double)(venn->left_only + venn->both), right = (double)(venn->right_only + venn->both);
  const double most = fmax(fmax(left, right), 1), scale = VENN_RADIUS / sqrt(most), pi = 3.14159265358979323846;
  const double r = sqrt(left) * scale, s = sqrt(right) * scale;
  const double d = distance_for(r, s, (double)venn->both * scale * scale * pi);
  const double x = PICTURE_WIDTH / 2.0 - (d + s - r) / 2, z = x + d; /* centres, so that the whole is in the middle */
  brim_picture_open(page, caption, VENN_HEIGHT);
  brim_text_printf(out,
                   "<circle class=\"f0\" opacity=\".35\" cx=\"%.1f\" cy=\"%d\" r=\"%.1f\"/><circle class=\"f1\" opacity=\".35\" "
                   "cx=\"%.1f\" cy=\"%d\" r=\"%.1f\"/>\n<text x=\"2\" y=\"14\">",
                   x, VENN_MIDDLE, r, z, VENN_MIDDLE, s);
  brim_markup_fitted(out, venn->left, 26);
  brim_text_printf(out, "</text><text class=\"end\" x=\"%d\" y=\"14\">", PICTURE_WIDTH - 2);
  brim_markup_fitted(out, venn->right, 26);
  brim_text_string(out, "</text>");
  put_count(out, "end", fmin(x - r, z - s) - 4, VENN_MIDDLE + 4, venn->left_only);
  put_count(out, "mid", (fmax(x - r, z - s) + fmin(x + r, z + s)) / 2, VENN_MIDDLE + 4, venn->both);
  put_count(out, "", fmax(x + r, z + s) + 4, VENN_MIDDLE + 4, venn->right_only);
  brim_text_string(out, "</svg>\n");
  brim_picture_numbers(page);
  put_numbers(page, venn);
  brim_picture_close(page);
}

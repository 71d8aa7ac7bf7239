/**
 * What mail programs do not show of a mail: the features that its HTML and CSS use, held against the measurements of
 * caniemail.com. Given the HTML and that data; leaves the features that some program lacks, the most widely missing first. Found
 * by name in the text, so a word in a comment may count too.
 */

/** As much of caniemail's data as is read here. */
export interface SupportData {
  nicenames: { family: Readonly<Record<string, string>> };
  data: readonly {
    slug: string;
    title: string;
    url: string;
    stats: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, string>>>>>>;
  }[];
}

export interface MissingFeature {
  title: string;
  url: string;
  /** Families of programs none of whose versions for any platform shows it. */
  none: readonly string[];
  /** Those where some platform does not, or not wholly. */
  partly: readonly string[];
}

/** Characters that are looked at: a mail beyond that is cut off by mail programs anyway. */
const MOST_CHARS = 256 * 1024;
/** Programs that most readers have, in this order; the others come behind. */
const COMMON = ['gmail', 'apple-mail', 'outlook', 'yahoo', 'samsung-email', 'thunderbird'];

export function missingFeatures(html: string, { nicenames, data }: SupportData): readonly MissingFeature[] {
  const used = slugsOf(html);
  const found = data.flatMap(({ slug, title, url, stats }) => {
    if (!used.has(slug)) return [];
    const none: string[] = [];
    const partly: string[] = [];
    for (const family of [...COMMON, ...Object.keys(stats).filter((one) => !COMMON.includes(one))]) {
      const marks = Object.values(stats[family] ?? {}).map(latestMark);
      const name = nicenames.family[family] ?? family;
      if (marks.length === 0 || marks.every((mark) => mark === 'y' || mark === 'u')) continue;
      (marks.every((mark) => mark === 'n') ? none : partly).push(name);
    }
    return none.length + partly.length === 0 ? [] : [{ title, url, none, partly }];
  });
  return found.sort((a, b) => 3 * b.none.length + b.partly.length - (3 * a.none.length + a.partly.length));
}

/** `y`, `a` (partly), `n` or `u` (not known) of the newest version, which stands last. */
function latestMark(versions: Readonly<Record<string, string>>): string {
  return Object.values(versions).at(-1)?.slice(0, 1) ?? 'u';
}

/** Names of caniemail's features that the text uses. */
function slugsOf(whole: string): ReadonlySet<string> {
  const html = whole.slice(0, MOST_CHARS);
  const slugs = new Set<string>();
  for (const [, name = ''] of html.matchAll(/<([a-z][a-z0-9]{0,30})[\s>/]/gi))
    slugs.add(`html-${name.toLowerCase()}`);
  const css = cssOf(html);
  for (const [, name = '', value = ''] of css.matchAll(/([a-z-]{2,40})\s{0,5}:([^;{}]{0,500})/gi)) {
    slugs.add(`css-${name.toLowerCase()}`);
    const display = /^\s{0,5}(?:inline-)?(flex|grid|none)\b/i.exec(value)?.[1];
    if (name.toLowerCase() === 'display' && display !== undefined)
      slugs.add(`css-display-${display.toLowerCase()}`);
    for (const [, called = ''] of value.matchAll(
      /\b(clamp|light-dark|max|min|linear-gradient|radial-gradient|conic-gradient)\(/gi,
    ))
      slugs.add(
        called.includes('gradient') ? `css-${called.toLowerCase()}` : `css-function-${called.toLowerCase()}`,
      );
    if (/\bvar\(/i.test(value)) slugs.add('css-variables');
    if (/\bcalc\(/i.test(value)) slugs.add('css-unit-calc');
    for (const [, unit = ''] of value.matchAll(/\d(rem|vh|vw|vmin|vmax|ch|ex)\b/gi))
      slugs.add(`css-unit-${unit.toLowerCase()}`);
  }
  for (const [, rule = ''] of css.matchAll(/@(font-face|import|keyframes|media|supports)\b/gi))
    slugs.add(`css-at-${rule.toLowerCase()}`);
  if (/prefers-color-scheme/i.test(css)) slugs.add('css-at-media-prefers-color-scheme');
  for (const [, kind = ''] of html.matchAll(/\.(webp|avif|svg|apng|bmp|tiff)["'?)\s]/gi))
    slugs.add(`image-${kind.toLowerCase()}`);
  if (/["'(]data:image\//i.test(html)) slugs.add('image-base64');
  return slugs;
}

/** Style sheets and style attributes, one behind the other. */
function cssOf(html: string): string {
  // One that is not closed goes on to the end, as in a browser: otherwise each of many would be looked through to the end.
  const sheets = [...html.matchAll(/<style[^>]{0,200}>([\s\S]*?)(?:<\/style|$)/gi)].map(
    ([, text = '']) => text,
  );
  const attributes = [...html.matchAll(/\sstyle\s{0,5}=\s{0,5}(?:"([^"]*)"|'([^']*)')/gi)].map(
    ([, a, b]) => a ?? b ?? '',
  );
  return [...sheets, ...attributes].join(';\n');
}

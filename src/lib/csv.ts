/**
 * Comma-separated values (RFC 4180) as spreadsheets write them: quotes, doubled quotes, line ends inside quotes, a
 * byte order mark, lines that end with CR alone; a semicolon, tab or bar as the separator if the first line has more of
 * those. One pass.
 */

const SEPARATORS = [',', ';', '\t', '|'] as const;

/** The rows of a text; empty lines are left out, a row keeps the number of the line it begins on. */
export function parseCsv(text: string): { line: number; cells: string[] }[] {
  const separator = separatorOf(text);
  const rows: { line: number; cells: string[] }[] = [];
  let cells: string[] = [];
  let cell = '';
  /** The cell has nothing but blanks yet. */
  let isBlank = true;
  const begin = (): void => {
    cell = '';
    isBlank = true;
  };
  const append = (char: string): void => {
    cell += char;
    isBlank &&= char.trim() === '';
  };
  let line = 1;
  let begun = 1;
  let quoted = false;
  const endRow = (): void => {
    cells.push(cell);
    begin();
    if (cells.some((one) => one.trim() !== '')) rows.push({ line: begun, cells });
    cells = [];
  };
  for (let i = text.charCodeAt(0) === 0xfeff ? 1 : 0; i < text.length; i++) {
    const char = text.charAt(i);
    const endsLine = char === '\n' || (char === '\r' && text.charAt(i + 1) !== '\n');
    if (endsLine) line += 1;
    if (quoted) {
      if (char !== '"') append(char);
      else if (text.charAt(i + 1) === '"') {
        append('"');
        i += 1;
      } else quoted = false;
    } else if (char === '"' && isBlank) {
      quoted = true;
      begin();
    } else if (char === separator) {
      cells.push(cell);
      begin();
    } else if (endsLine) {
      endRow();
      begun = line;
    } else if (char !== '\r') append(char);
  }
  endRow();
  return rows;
}

/** One line with its end; cells are quoted where they have to be. */
export function csvLine(cells: readonly string[]): string {
  return `${cells.map(csvCell).join(',')}\r\n`;
}

/**
 * Where a formula could begin. Spreadsheets run a cell that begins like one, also by a wide character, and the reply of a mail
 * server can begin so. In many countries they take a semicolon for the end of a cell, and then a line end for that of a row,
 * also between our quotes.
 */
const FORMULA = /(^|[;\t\r\n])(?="*[=+@\t\r＝＋－＠-])/g;
const GUARDED_FORMULA = /(^|[;\t\r\n])'(?="*[=+@\t\r＝＋－＠-])/g;

function csvCell(text: string): string {
  const safe = text.replace(FORMULA, "$1'");
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A cell without the apostrophes that `csvLine` puts before what a spreadsheet would run. */
export function withoutGuards(cell: string): string {
  return cell.replace(GUARDED_FORMULA, '$1');
}

/** The one that stands most often in the first line, outside quotes; a comma where none does. */
function separatorOf(text: string): string {
  const counts = new Map<string, number>(SEPARATORS.map((char) => [char, 0]));
  let quoted = false;
  for (const char of text) {
    if (char === '"') quoted = !quoted;
    else if ((char === '\n' || char === '\r') && !quoted) break;
    const count = counts.get(char);
    if (count !== undefined && !quoted) counts.set(char, count + 1);
  }
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

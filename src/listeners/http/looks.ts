/**
 * Searches in limited steps. Repeats a step that reads some rows and says where the next one begins, until enough is
 * found, nothing is left, the steps are used up or the client disconnected. Other requests are answered between two
 * steps, and what was found is a page whose cursor continues.
 */

/** The limits of one request. */
export interface Looks {
  left: number;
  ended: AbortSignal;
}

/** Rows of a step, and where the next one begins; null = there is nothing more. */
export interface Found<Row, Place> {
  rows: readonly Row[];
  next: Place | null;
}

/** Steps per request: some hundred thousand rows, and seconds if nobody else asks. */
const MOST_LOOKS = 50;

/** The steps of a request; a page and a count share them. */
export function looksOf(request: { ended(): AbortSignal }): Looks {
  return { left: MOST_LOOKS, ended: request.ended() };
}

/** Whether another step is allowed; counts it. */
export function mayLook(looks: Looks): boolean {
  looks.left -= 1;
  return looks.left >= 0 && !looks.ended.aborted;
}

/**
 * At most `limit` rows, and the position where more may be found, null = there is nothing more. A step is asked for `most`
 * rows, one more than the page holds, which shows that there is a next page. What is more than needed is found again from
 * the position of the page's last row, which `placeOf` returns.
 */
export async function gather<Row, Place>(
  looks: Looks,
  limit: number,
  from: Place | undefined,
  look: (from: Place | undefined, most: number) => Promise<Found<Row, Place>>,
  placeOf: (row: Row) => Place,
): Promise<{ rows: Row[]; next: Place | null }> {
  const rows: Row[] = [];
  let place = from;
  while (mayLook(looks)) {
    const found = await look(place, limit + 1);
    for (const row of found.rows) {
      const last = rows.at(-1);
      if (rows.length === limit && last !== undefined) return { rows, next: placeOf(last) };
      rows.push(row);
    }
    if (found.next === null) return { rows, next: null };
    place = found.next;
  }
  return { rows, next: place ?? null };
}

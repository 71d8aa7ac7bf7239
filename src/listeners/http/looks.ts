/**
 * Searches made of bounded looks. Given a look that reads some and says where the next one begins, goes on until enough is
 * found, nothing is left, its looks are used up or the client has gone. Other requests are answered between two looks, and
 * what is found so far is a page whose cursor goes on.
 */

/** How far one request may go. */
export interface Looks {
  left: number;
  ended: AbortSignal;
}

/** Looks of one request: some hundred thousand rows, and seconds where nobody else asks. */
const MOST_LOOKS = 50;

/** The looks of a request; those that it shares between a page and a count are one budget. */
export function looksOf(request: { ended(): AbortSignal }): Looks {
  return { left: MOST_LOOKS, ended: request.ended() };
}

/** Whether another look may follow; counts it. */
export function mayLook(looks: Looks): boolean {
  looks.left -= 1;
  return looks.left >= 0 && !looks.ended.aborted;
}

/**
 * At most `limit` rows, and the place where more may be found, null = there is nothing more. The last look may find more
 * than were missing: what is left over is found again from the place of the last row, which `placeOf` tells.
 */
export async function gather<Row, Place>(
  looks: Looks,
  limit: number,
  from: Place | undefined,
  look: (from: Place | undefined) => Promise<{ rows: readonly Row[]; next: Place | null }>,
  placeOf: (row: Row) => Place,
): Promise<{ rows: Row[]; next: Place | null }> {
  const rows: Row[] = [];
  let place = from;
  while (mayLook(looks)) {
    const found = await look(place);
    for (const row of found.rows) {
      const last = rows.at(-1);
      // One more than asked for says that there is a next page, and nothing of it.
      if (rows.length === limit && last !== undefined) return { rows, next: placeOf(last) };
      rows.push(row);
    }
    if (found.next === null) return { rows, next: null };
    place = found.next;
  }
  return { rows, next: place ?? null };
}

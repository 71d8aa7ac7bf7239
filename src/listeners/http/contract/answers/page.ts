/** One page of a list that is read by cursor. */

/** A page of a list; `NextCursor` is null on the last one. */
export interface Page<T> {
  Items: readonly T[];
  HasMore: boolean;
  NextCursor: string | null;
}

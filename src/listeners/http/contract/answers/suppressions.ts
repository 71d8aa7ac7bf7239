/** What is left of a person who was erased. Types only. */

/** POST /erase. */
export interface EraseAnswer {
  /** Messages in which the person stood. */
  Messages: number;
  /** Events in which the address was masked. */
  Events: number;
  /** Messages of which something had to stay until a copy under way is final: ask again then. */
  Pending: number;
  /** How much of the work is done, 0 to 1. */
  Share: number;
  /** `After` of the next request; null = all is done. */
  NextCursor: string | null;
}

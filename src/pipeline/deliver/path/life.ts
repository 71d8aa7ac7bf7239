/** What of one path is under way, and whether it goes on: what a path that stops finds out is given back, not handed on. */
export interface Life {
  readonly stopping: boolean;
  /** Transactions under way. */
  readonly inFlight: number;
}

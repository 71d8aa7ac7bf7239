/** A change that somebody made through the API, as stored. */
export interface AuditEntry {
  /** UUIDv7: the order of entries. */
  id: string;
  at: number;
  /** Whose entries make room for each other where there are many: the owner that a line of tokens begins with, or a person. */
  line: string;
  /** false: with a token. */
  byPerson: boolean;
  /** PersonID or TokenID. */
  whoId: string;
  /** Email address or name at that time. */
  whoName: string;
  /** `operationId` of the API. */
  operation: string;
  /** Path below /api/v1 without its first slash, such as `tokens/019aa3f0-…`; recipients' addresses are left out. */
  resource: string;
  /** Settings that were named, as `Quota.PerDay=500` since the change; without the value where that is no number and no word. */
  changed: readonly string[];
  ip: string;
}

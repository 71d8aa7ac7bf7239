/** What SpamAssassin says of a mail. */
export type SpamReport =
  | {
      kind: 'checked';
      /** Above `required` it counts as spam. */
      points: number;
      required: number;
      rules: readonly SpamRule[];
    }
  /** A sentence. */
  | { kind: 'not-checked'; why: string };

export interface SpamRule {
  /** `MISSING_SUBJECT`. */
  name: string;
  points: number;
  description: string;
}

/** Asks SpamAssassin; never rejects. `tenant`: few mails of one are examined at the same time. */
export type CheckSpam = (message: Uint8Array, tenant: string) => Promise<SpamReport>;

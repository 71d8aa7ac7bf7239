/**
 * Alerts to the operator that have not ended, and mails about them. Part of the Store (`../store.ts` has the promises
 * of all its operations).
 */
import type { NewEvent } from './events.ts';

/** What an alert is about; kind and subject are unique together. */
export interface AlertKey {
  kind: string;
  subject: string;
}

/** An alert that was reported and has not ended. */
export interface OpenAlert extends AlertKey {
  /** What is wrong. */
  message: string;
  since: number;
}

/** A mail to the operator that is still to be accepted for sending. */
export interface AlertMail {
  id: string;
  at: number;
  subject: string;
  text: string;
}

export interface AlertStore {
  /** By kind and subject. */
  listAlerts(): Promise<readonly OpenAlert[]>;
  /**
   * Stores alerts that begin, removes those that end, and stores their events (with the webhook calls that these cause,
   * of webhooks of `domain`) and the mail about them, together. false, and nothing is stored, if the writer's epoch has
   * ended, or one that begins is open, or one that ends is not: somebody else has told it. Synced.
   */
  changeAlerts(params: {
    epoch: number;
    began: readonly OpenAlert[];
    ended: readonly AlertKey[];
    domain: string;
    events: readonly NewEvent[];
    mail: AlertMail | null;
  }): Promise<boolean>;
  /** Oldest first, at most `limit`. */
  listAlertMails(params: { limit: number }): Promise<readonly AlertMail[]>;
  removeAlertMail(params: { id: string }): Promise<void>;
}

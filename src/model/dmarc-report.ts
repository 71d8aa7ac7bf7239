/** What a receiver counted of the mail in the name of a sender domain: a DMARC aggregate report (RFC 9990). */

/** What a receiver did with mail because of the domain's policy. */
export type DmarcDisposition = 'none' | 'quarantine' | 'reject';

/** Mail of one source with one result. */
export interface DmarcCount {
  /** IP address; '' = the sources that are not named, together. */
  source: string;
  messages: number;
  /** Whether a valid signature is aligned with the From address, and whether SPF is. One is enough to pass. */
  dkim: boolean;
  spf: boolean;
  disposition: DmarcDisposition;
  /** Domain of the From address; '' = of several. */
  from: string;
  /** Signatures, SPF and why the policy was not applied, in a few words; '' where both passed. */
  found: string;
}

export interface DmarcReport {
  /** As it names itself. */
  reporter: string;
  /** Domain of a valid signature of the reporter's mail; '' = it proves nothing. */
  signedBy: string;
  /** Chosen by the reporter. */
  reportId: string;
  /** The time that it is about. */
  beginAt: number;
  endAt: number;
  receivedAt: number;
  counts: readonly DmarcCount[];
}

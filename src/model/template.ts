/**
 * A stored template of one sender domain: subject, HTML and text with placeholders. Its name can change; a version
 * cannot.
 */

export interface TemplateHead {
  /** UUIDv7. */
  id: string;
  /** Sender domain that it belongs to, lower-case A-label. */
  domain: string;
  /** Its name, unique within the domain. */
  name: string;
  /** The newest version's number. */
  version: number;
  createdAt: number;
  /** When the newest version was stored or the name changed. */
  updatedAt: number;
}

/** The texts of one version; null = the request provides this part. */
export interface TemplateTexts {
  subject: string | null;
  html: string | null;
  text: string | null;
}

export interface TemplateVersion extends TemplateTexts {
  /** From 1, incremented with every change. */
  version: number;
  createdAt: number;
}

/** Stored templates and what they render. Types only. */

/** One item of GET /templates. */
export interface TemplateSummary {
  TemplateID: string;
  Domain: string;
  Name: string;
  /** The newest. */
  Version: number;
  CreatedAt: string;
  UpdatedAt: string;
}

/** A template with one version of its texts; null = left to the request. */
export interface TemplateDetail extends TemplateSummary {
  /** The one that is shown. */
  Version: number;
  Subject: string | null;
  HTMLContent: string | null;
  PlainContent: string | null;
  /** Names that its tags ask for; inside a section they may be members of its items. */
  Variables: readonly string[];
  /** Versions that are kept, newest first, at most 100. */
  Versions: readonly { Version: number; CreatedAt: string }[];
}

/** POST /templates/{id}/render. */
export interface TemplateRendering {
  Subject: string | null;
  HTMLContent: string | null;
  PlainContent: string | null;
  /** Variables that were asked for without a default and not given. */
  Missing: readonly string[];
  Version: number;
}

/**
 * What an operation promises to the outside: its name, words, query, body, answer and refusals, as schemas. The document
 * of the interface and the reference are made from it. The schema of a body is the very object that reads it, so the
 * two cannot differ; POST /email alone is read by hand, and its schema is held against the reader by a test.
 */
import type { z } from 'zod';
import type { ErrorName } from '../../../lib/errors.ts';

export interface ApiContract {
  /** `operationId`: what a generated client calls it. */
  id: string;
  /** A few words, for lists. */
  summary: string;
  /** Sentences in Markdown, as in the reference. */
  description: string;
  /** Query parameters by documented name. */
  query?: z.ZodRawShape;
  body?: {
    schema: z.ZodType;
    /** A body that is taken as it stands, where what it names exists. */
    example: Readonly<Record<string, unknown>>;
    /** Nothing at all counts as `{}`. */
    mayBeEmpty?: true;
  };
  /** 200 where left out. */
  status?: 201;
  /** Of the JSON body; with another `media`, of what it carries. */
  answer: z.ZodType;
  media?: 'message/rfc822' | 'text/event-stream' | 'text/html' | '*/*';
  /** Headers of the answer beside the common ones, with their meaning. */
  headers?: Readonly<Record<string, string>>;
  /** Takes an Idempotency-Key. */
  idempotent?: true;
  /** Refusals beside those that any operation with such a path, query and body has. */
  errors?: readonly ErrorName[];
}

/** `postrider/client`: everything an application imports (docs/howto/use-the-client.md). */
export type { CallOptions, ClientOptions } from './caller.ts';
export { createPostrider, type Postrider } from './client.ts';
export {
  type ApiProblem,
  PostriderConnectionError,
  PostriderError,
  WebhookVerificationError,
} from './errors.ts';
export type {
  Address,
  Attachment,
  CaptureFilter,
  CaptureQuery,
  MessageQuery,
  NewSandboxRule,
  NewSuppression,
  NewWebhook,
  PageRequest,
  SendRequest,
  StatsQuery,
} from './requests.ts';
export { verifyWebhook, type WebhookEvent } from './webhook.ts';

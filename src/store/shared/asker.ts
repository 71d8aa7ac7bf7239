/** For whom a search is made, so that the searches of one tenant do not hold up those of others (lib/asker-line.ts). */

/** '' where its parameters name neither a sender domain nor a webhook: it is for the operator, or for this server itself. */
export function askerOf(params: object | undefined): string {
  const { domains, domain, webhookId } = (params ?? {}) as {
    domains?: readonly string[];
    domain?: string;
    webhookId?: number;
  };
  if (webhookId !== undefined) return `webhook ${webhookId}`;
  return domains?.[0] ?? domain ?? '';
}

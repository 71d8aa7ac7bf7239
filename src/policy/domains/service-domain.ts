/**
 * The service domain: a sender domain of the operator's whose key signs below that of every sender,
 * so that feedback loops by signature are enrolled in once. It is a sender domain like any other: its keys are sealed,
 * shown, checked and rotated in the same way. Given its name, leaves it added; its records are still to be published.
 */
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { DomainService } from './domains.ts';

/** Adds the domain where it is not there yet. null: none is configured. */
export async function addServiceDomain(
  domains: Pick<DomainService, 'get' | 'add'>,
  name: string | null,
  log: Logger,
): Promise<void> {
  if (name === null || (await domains.get(name)) !== null) return;
  try {
    await domains.add({ name, operatorVerified: false });
  } catch (cause) {
    // Another process was faster.
    if (cause instanceof AppError && cause.problems[0].name === 'domain-exists') return;
    throw cause;
  }
  log.info(
    { domain: name },
    `the service domain was added; it signs once its records are published: postrider domain show ${name}`,
  );
}

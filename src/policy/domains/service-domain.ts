/**
 * The service domain: a sender domain of the operator whose key signs every message a second time, so that feedback
 * loops that go by signature need one registration only. It is a sender domain like any other: its keys are encrypted,
 * shown, checked and rotated in the same way.
 */
import { AppError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { DomainService } from './domains.ts';

/** Adds the domain if it does not exist yet. null: none is configured. */
export async function addServiceDomain(
  domains: Pick<DomainService, 'get' | 'add'>,
  name: string | null,
  log: Logger,
): Promise<void> {
  if (name === null || (await domains.get(name)) !== null) return;
  try {
    await domains.add({ name, operatorVerified: false });
  } catch (cause) {
    // Another process added it first.
    if (cause instanceof AppError && cause.problems[0].name === 'domain-exists') return;
    throw cause;
  }
  log.info(
    { domain: name },
    `the service domain was added; it signs once its records are published: postrider domain show ${name}`,
  );
}

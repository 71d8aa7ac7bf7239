/**
 * The SPF record of a return path when relays are used: the names under which known providers publish their addresses.
 * Takes the host of a relay; returns the `include:` of its provider, or null if the provider is unknown. From the
 * providers' own set-up pages, as of 2026-11.
 */
import { isAtOrBelow } from '../../mail/address-text.ts';

/** End of the relay's host name → name to include. */
const INCLUDES: readonly (readonly [end: string, include: string])[] = [
  ['amazonaws.com', 'amazonses.com'],
  ['sendgrid.net', 'sendgrid.net'],
  ['mailgun.org', 'mailgun.org'],
  ['mandrillapp.com', 'spf.mandrillapp.com'],
  ['mailjet.com', 'spf.mailjet.com'],
  ['postmarkapp.com', 'spf.mtasv.net'],
  ['brevo.com', 'spf.brevo.com'],
  ['sendinblue.com', 'spf.brevo.com'],
  ['gmail.com', '_spf.google.com'],
  ['google.com', '_spf.google.com'],
  ['office365.com', 'spf.protection.outlook.com'],
  ['outlook.com', 'spf.protection.outlook.com'],
  ['zoho.com', 'zoho.com'],
  ['zoho.eu', 'zoho.eu'],
  ['fastmail.com', 'spf.messagingengine.com'],
  ['ovh.net', 'mx.ovh.com'],
];

/** The name to include for a relay's host; null if its provider is unknown. */
export function relayInclude(host: string): string | null {
  const name = host.toLowerCase().replace(/\.$/, '');
  const found = INCLUDES.find(([end]) => isAtOrBelow(name, end));
  return found?.[1] ?? null;
}

/**
 * The text of the SPF record for return paths at `bounceDomain`. `a` and `mx` of the host cover the usual case that
 * bounces are received where mail is sent; `includes`: names for the relays in use.
 */
export function spfText(bounceDomain: string, includes: readonly string[] = []): string {
  const terms = [`a:${bounceDomain}`, `mx:${bounceDomain}`, ...includes.map((name) => `include:${name}`)];
  return `v=spf1 ${terms.join(' ')} ~all`;
}

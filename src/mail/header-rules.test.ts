import { describe, expect, it } from 'vitest';
import { checkHeader } from './header-rules.ts';

describe('checkHeader', () => {
  it('lets ordinary headers through', () => {
    for (const name of [
      'X-Mailer',
      'In-Reply-To',
      'References',
      'List-Unsubscribe',
      'List-Unsubscribe-Post',
      'Feedback-ID',
      'Precedence',
      'Auto-Submitted',
      'Importance',
      'X-Priority',
      'X-Entity-Ref-ID',
      'X'.repeat(126),
    ]) {
      expect(checkHeader(name, 'value\twith tab')).toBe(null);
    }
  });

  it('refuses names outside the grammar', () => {
    for (const name of ['', 'A B', 'A:', 'A\r\nBcc', 'Ä', 'A\0', 'X'.repeat(127), 'A\x7f']) {
      expect(checkHeader(name, 'v')).toBe('name');
    }
  });

  it('refuses reserved names in any case', () => {
    for (const name of [
      'From',
      'SENDER',
      'to',
      'Cc',
      'bCC',
      'Reply-To',
      'Subject',
      'Date',
      'Message-ID',
      'MIME-Version',
      'Content-Type',
      'content-anything',
      'Received',
      'Return-Path',
      'Delivered-To',
      'Resent-Bcc',
      'DKIM-Signature',
      'DomainKey-Signature',
      'ARC-Seal',
      'Authentication-Results',
      'X-Postrider-Ref',
    ]) {
      expect(checkHeader(name, 'v')).toBe('reserved');
    }
  });

  it('refuses text beyond ASCII within the angle brackets of a List- field only', () => {
    expect(checkHeader('List-Id', 'Ünï <x.example.com>')).toBe(null);
    expect(checkHeader('list-help', '<https://x.example/> (Grüße)')).toBe(null);
    expect(checkHeader('List-Id', 'Uni <ünï.example.com>')).toBe('brackets');
    expect(checkHeader('List-Unsubscribe', '<https://x.example/>, <https://ünï.example/>')).toBe('brackets');
    expect(checkHeader('References', '<ünï@x.example>')).toBe(null);
    expect(checkHeader('X-List-Id', '<ünï>')).toBe(null);
  });

  it('refuses controls, lone surrogates and values over 995 octets as sent', () => {
    for (const value of [
      'a\rb',
      'a\nb',
      'a\r\nBcc: x',
      'a\0',
      '\x7f',
      '\x1b',
      '\ud800',
      'x'.repeat(996),
      'é'.repeat(400),
    ]) {
      expect(checkHeader('X-A', value)).toBe('value');
    }
    for (const value of ['', 'x'.repeat(995), 'é'.repeat(200), '日本語'])
      expect(checkHeader('X-A', value)).toBe(null);
  });
});

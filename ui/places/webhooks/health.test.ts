/** What is said of a webhook and its calls. */
import { describe, expect, it } from 'vitest';
import type { WebhookCall, WebhookDetail } from '../../../src/client/api-types.ts';
import { callWords, healthOf, shownText, testWords, tookText } from './health.ts';

const webhook = (more: Partial<WebhookDetail>): WebhookDetail => ({
  WebhookID: 1,
  CreatedAt: '2026-01-01T00:00:00.000Z',
  UpdatedAt: '2026-01-01T00:00:00.000Z',
  Status: 'Enabled',
  WebhookURL: 'https://hooks.example.com/',
  Event: 'all',
  Events: ['all'],
  LastResponseCode: 200,
  LastResponseBody: '',
  LastResponseAt: '2026-01-01T00:00:00.000Z',
  LastResponseTryCounter: 1,
  Domain: 'example.com',
  Description: '',
  CreatedBy: null,
  DisabledReason: null,
  FailingSince: null,
  LastError: '',
  LastLatencyMs: 12,
  Pending: 0,
  SecretHint: 'abcd',
  ...more,
});

describe('a webhook', () => {
  it('works, fails, is disabled for a reason, or was never called', () => {
    expect(healthOf(webhook({}))).toMatchObject({ status: 'Ok', words: 'Works', meaning: 'Answered 200.' });
    const failing = webhook({
      FailingSince: '2026-01-01T00:00:00.000Z',
      LastResponseCode: 0,
      LastError: 'refused',
    });
    expect(healthOf(failing)).toMatchObject({ status: 'Failing', words: 'Failing' });
    expect(healthOf(failing).meaning).toContain('No answer: refused.');
    const moved = { ...failing, LastResponseCode: 301 };
    expect(healthOf(moved).meaning).toContain('Answered 301: a redirect, which is not followed');
    expect(healthOf(webhook({ Status: 'Disabled', DisabledReason: 'Gone' })).meaning).toContain('410');
    const disabled = (DisabledReason: 'User' | 'Failures') =>
      healthOf(webhook({ Status: 'Disabled', DisabledReason })).status;
    expect([disabled('User'), disabled('Failures')]).toEqual(['Canceled', 'Failing']);
    expect(healthOf(webhook({ LastResponseTryCounter: 0 })).words).toBe('Not called yet');
  });

  it('says what a test got', () => {
    expect(testWords({ StatusCode: 204, LatencyMs: 1_234, Body: '', Error: '' })).toEqual({
      isTaken: true,
      words: 'Answered 204 after 1.2 s',
    });
    expect(testWords({ StatusCode: 0, LatencyMs: 15_000, Body: '', Error: 'no\nanswer' })).toEqual({
      isTaken: false,
      words: 'No answer after 15.0 s: no answer',
    });
  });
});

describe('a call', () => {
  const call: WebhookCall = {
    DeliveryID: 1,
    EventID: '019ab0c1-7d3e-7000-8000-000000000000',
    Event: 'bounced',
    MessageID: null,
    Recipient: null,
    Status: 'Succeeded',
    Tries: 2,
    ResponseCode: 200,
    Error: '',
    ResponseBody: '',
    LatenciesMs: [],
    CreatedAt: '2026-01-01T00:00:00.000Z',
    UpdatedAt: '2026-01-01T00:05:00.000Z',
    NextTryAt: null,
  };

  it('is named by what came of it, with how long that took', () => {
    expect(callWords(call)).toEqual({ status: 'Ok', words: 'Taken', answer: '200' });
    expect(tookText(call)).toBe('5 min');
    expect(callWords({ ...call, Status: 'Pending', ResponseCode: 0, Error: 'timed out' })).toEqual({
      status: 'Deferred',
      words: 'Retrying',
      answer: 'no answer: timed out',
    });
    expect(tookText({ ...call, Status: 'Sending' })).toBe('');
  });
});

it('shows what hides and turns texts', () => {
  expect(shownText('a\u0000b\u001b[31m\r\nc\td')).toBe('a␀b␛[31m\nc\td');
  expect(shownText('\u202egpj.exe')).toBe('\ufffdgpj.exe');
});

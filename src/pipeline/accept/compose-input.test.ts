import { expect, it } from 'vitest';
import { SUBMISSION_DEFAULTS, type SubmittedBody } from '../../model/submission.ts';
import { composeInputInSteps } from './compose-input.ts';

/** What is composed of a body, and how often other work could run meanwhile. */
function taken(body: SubmittedBody) {
  const steps = composeInputInSteps(
    {
      ...SUBMISSION_DEFAULTS,
      from: { name: '', address: 'a@example.com' },
      fromDomain: 'example.com',
      recipients: [],
      subject: 'S',
      body,
    },
    { messageId: 'x', dateMs: 0, personal: null },
  );
  for (let pauses = 0; ; pauses += 1) {
    const { done, value } = steps.next();
    if (done === true) return { body: value.body, pauses };
  }
}

it('the text of HTML is made where none is given', () => {
  const html = '<p>Hi';
  expect(taken({ kind: 'html', html, text: undefined }).body).toEqual({ kind: 'html', html, text: 'Hi' });
  expect(taken({ kind: 'html', html, text: null }).body).toEqual({ kind: 'html', html, text: null });
  expect(taken({ kind: 'html', html, text: 'Hello' }).body).toEqual({ kind: 'html', html, text: 'Hello' });
  expect(taken({ kind: 'html', html: '<img src=x>', text: undefined }).body).toMatchObject({ text: null });
  expect(taken({ kind: 'text-of-html', html }).body).toEqual({ kind: 'text', text: 'Hi' });
  expect(taken({ kind: 'text-of-html', html: '<img src=x>' }).body).toEqual({ kind: 'text', text: '' });
});

it('the text of HTML of many tags is made in steps, also where a hidden part does not end', () => {
  const html = '<td>x'.repeat(20_000);
  for (const body of [
    { kind: 'html', html, text: undefined },
    { kind: 'text-of-html', html },
  ] satisfies SubmittedBody[])
    expect(taken(body).pauses).toBe(4);
  expect(taken({ kind: 'text-of-html', html: `${html}<p style=display:none>` }).pauses).toBe(8);
});

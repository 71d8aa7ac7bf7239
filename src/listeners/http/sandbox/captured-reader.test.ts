/** What is shown of a message that takes too long to read: everything but its contents. */
import { expect, it } from 'vitest';
import { AppError } from '../../../lib/errors.ts';
import { createCapturedReader } from './captured-reader.ts';

const late = (problem: 'request-too-complex' | 'unavailable') =>
  createCapturedReader({ run: () => Promise.reject(new AppError(problem)) }, { hereBytes: 10 });
const LARGE = Buffer.alloc(11);
const shown = async (of: 'capture' | 'email') =>
  JSON.parse(
    Buffer.from(await late('request-too-complex').detail(LARGE, { Status: 'Sent' }, of, ['a'])).toString(),
  );

it('the status of a message is shown without its contents where reading those takes too long', async () => {
  expect(await shown('email')).toEqual({
    Status: 'Sent',
    HTMLContent: null,
    PlainContent: null,
    Attachments: null,
  });
  expect(await shown('capture')).toMatchObject({
    Status: 'Sent',
    HTMLContent: '',
    ParseError: expect.stringContaining('too long'),
  });
  expect(await late('request-too-complex').page(LARGE, ['a'], false)).toBeNull();
});

it('other refusals of the workers are passed on', async () => {
  await expect(late('unavailable').detail(LARGE, {}, 'email', ['a'])).rejects.toBeInstanceOf(AppError);
  await expect(late('request-too-complex').file(LARGE, 0, ['a'])).rejects.toBeInstanceOf(AppError);
});

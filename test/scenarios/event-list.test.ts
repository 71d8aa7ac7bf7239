/** GET /events: the frozen shape, and every filter that clients use, in any spelling. */
import { beforeAll, describe, expect, it } from 'vitest';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';

const scope = fileScope();
let server: Instance;
let token: string;
let delivered: string;
let bounced: string;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
  delivered = await server.send(
    {
      To: [{ name: 'Reader', email: 'delivered@simulator.test' }],
      CC: [{ email: 'delivered+cc@simulator.test' }],
      BCC: [{ email: 'delivered+bcc@simulator.test' }],
      ReplyTo: [{ name: 'R', email: 'r@example.org' }],
      Subject: 'First',
      Tags: ['one', 'with blank'],
    },
    { token },
  );
  bounced = await server.send({ To: [{ email: 'bounced@simulator.test' }], Subject: 'Second' }, { token });
  await server.settled(delivered);
  await server.settled(bounced);
});

const events = async (query: string) => {
  const answer = await server.call('GET', `/events?${query}`, { token });
  expect(answer.status, answer.text).toBe(200);
  return answer.json as { TotalRecords: number; Events: Record<string, never>[] };
};

describe('GET /events', () => {
  it('has the frozen shape, address lists as pairs', async () => {
    const list = await events(`MessageID=${delivered}&Event=delivered&RetrieveCount=100`);
    expect(Object.keys(list)).toEqual(['TotalRecords', 'Events']);
    expect(list.TotalRecords).toBe(3);
    const event = list.Events.find(({ Recipient }) => Recipient === 'delivered@simulator.test');
    expect(Object.keys(event ?? {})).toEqual([
      'Event',
      'LoggedAt',
      'LogLevel',
      'Message',
      'Recipient',
      'Reason',
      'Ip',
      'Geolocation',
    ]);
    expect(event).toEqual({
      Event: 'delivered',
      LoggedAt: expect.any(Number),
      LogLevel: 'Info',
      Message: {
        Headers: {
          MessageId: delivered,
          From: [['Sender', 'sender@example.com']],
          ReplyTo: [['R', 'r@example.org']],
          To: [['Reader', 'delivered@simulator.test']],
          Cc: [['', 'delivered+cc@simulator.test']],
          Bcc: [['', 'delivered+bcc@simulator.test']],
          Subject: 'First',
        },
        Size: expect.any(Number),
        Transport: 'sandbox',
      },
      Recipient: 'delivered@simulator.test',
      Reason: '',
      Ip: '',
      Geolocation: { City: '', Region: '', Country: '' },
    });
    const now = Date.now() / 1000;
    expect(Math.abs(Number(event?.LoggedAt) - now)).toBeLessThan(60);
  });

  it('gives five records unless asked for more, newest first, and pages with StartFrom', async () => {
    const first = await events('');
    expect(first.TotalRecords).toBe(8);
    expect(first.Events).toHaveLength(5);
    const all = await events('RetrieveCount=100');
    expect(all.Events).toHaveLength(8);
    const times = all.Events.map(({ LoggedAt }) => Number(LoggedAt));
    expect(times).toEqual([...times].sort((a, b) => b - a));
    const rest = await events('StartFrom=5&RetrieveCount=100');
    expect([...first.Events, ...rest.Events]).toEqual(all.Events);
    expect((await events('StartFrom=1000')).Events).toEqual([]);
  });

  it('goes on behind a page with Before, also with filters, and names it where StartFrom is too far', async () => {
    for (const filter of [
      '',
      '&Recipient=delivered@simulator.test',
      '&Event=delivered',
      `&MessageID=${delivered}`,
    ]) {
      const all = await events(`RetrieveCount=100${filter}`);
      const seen: unknown[] = [];
      for (let place: string | null = ''; place !== null; ) {
        const query: string = `RetrieveCount=2${filter}${place === '' ? '' : `&Before=${place}`}`;
        const answer = await server.call('GET', `/events?${query}`, { token });
        seen.push(...answer.json.Events);
        place = answer.headers.get('x-next-before');
      }
      expect(seen).toEqual(all.Events);
    }
    const far = await server.call('GET', '/events?StartFrom=700000', { token });
    expect(far.status).toBe(422);
    expect(far.json.Errors[0].Message).toContain('go on with Before');
    expect((await server.call('GET', '/events?Before=yesterday', { token })).status).toBe(422);
    expect((await server.call('GET', '/events?Before=1.1&After=1', { token })).status).toBe(422);
  });

  it('filters by event; failed finds bounces too; webhook words are known', async () => {
    expect((await events('Event=bounced')).TotalRecords).toBe(1);
    expect((await events('Event=failed')).TotalRecords).toBe(1);
    expect((await events('Event=bounce')).TotalRecords).toBe(1);
    expect((await events('Event=ACCEPTED')).TotalRecords).toBe(4);
    expect((await events('Event=opened')).TotalRecords).toBe(0);
    const [bounce] = (await events('Event=bounced')).Events;
    expect(bounce).toMatchObject({ LogLevel: 'Error', Reason: expect.stringContaining('no such user') });
    expect((await server.call('GET', '/events?Event=nonsense', { token })).json.Errors[0].Code).toBe(422);
  });

  it('filters by message in the spelling of every client, by recipient and by tag', async () => {
    for (const name of ['MessageID', 'MessageId', 'messageid', 'MESSAGEID']) {
      expect((await events(`${name}=${bounced}&RetrieveCount=100`)).TotalRecords).toBe(2);
    }
    expect((await events(`messageid=${bounced.toUpperCase()}`)).TotalRecords).toBe(2);
    expect((await events('Recipient=bounced@simulator.test')).TotalRecords).toBe(2);
    expect((await events('Tag=with%20blank')).TotalRecords).toBe(6);
    expect((await events('Tag=nobody')).TotalRecords).toBe(0);
    expect((await events('Unknown=parameter')).TotalRecords).toBe(8);
  });

  it('filters by time in whole seconds, both ends included', async () => {
    const all = await events('RetrieveCount=100');
    const times = all.Events.map(({ LoggedAt }) => Number(LoggedAt));
    const first = Math.min(...times);
    const last = Math.max(...times);
    expect((await events(`StartDate=${first}&EndDate=${last}`)).TotalRecords).toBe(8);
    expect((await events(`StartDate=${last + 1}`)).TotalRecords).toBe(0);
    expect((await events(`EndDate=${first - 1}`)).TotalRecords).toBe(0);
    const iso = (seconds: number, ms = 0) => new Date(seconds * 1000 + ms).toISOString();
    expect((await events(`StartDate=${iso(first, 900)}&EndDate=${iso(last)}`)).TotalRecords).toBe(8);
    expect((await events(`EndDate=${iso(first - 1, 999)}`)).TotalRecords).toBe(0);
    expect((await events(`StartDate=${iso(first - 86_400).slice(0, 10)}`)).TotalRecords).toBe(8);
    // As somebody writes an offset who does not encode the plus sign.
    const [ahead, from] = ['+02:00', iso(first + 7200).slice(0, 19)];
    expect((await events(`StartDate=${from}${ahead}`)).TotalRecords).toBe(8);
    expect((await events(`EndDate=${iso(first + 7199).slice(0, 19)}${ahead}`)).TotalRecords).toBe(0);
    expect((await events(`enddate=${last}&startdate=${last}`)).TotalRecords).toBe(
      times.filter((time) => time === last).length,
    );
  });

  it.each(['StartFrom=-1', 'RetrieveCount=0', 'RetrieveCount=x', 'StartDate=yesterday', 'StartFrom=1e3'])(
    'refuses %s with a code and the parameter',
    async (query) => {
      const answer = await server.call('GET', `/events?${query}`, { token });
      expect(answer.status).toBe(422);
      expect(answer.json.Errors[0]).toMatchObject({ Code: 422, Field: `/${query.split('=')[0]}` });
    },
  );

  it('goes on from where a reader stopped', async () => {
    const answer = await server.call('GET', '/events?After=0&RetrieveCount=100', { token });
    const at = answer.headers.get('x-next-after');
    expect(answer.json.Events).toHaveLength(8);
    expect((await events(`After=${at}`)).Events).toEqual([]);
    const later = await server.send({ To: [{ email: 'delivered@simulator.test' }] }, { token });
    await server.settled(later);
    const kinds = (await events(`After=${at}`)).Events.map(({ Event }) => Event);
    expect(kinds).toEqual(['accepted', 'delivered']);
  });

  it('has the full facts in the timeline of one message', async () => {
    const timeline = await server.call('GET', `/email/${bounced}/events`, { token });
    expect(timeline.json.Items.map(({ Event }: { Event: string }) => Event)).toEqual(['accepted', 'bounced']);
    expect(timeline.json.Items[1].Bounce).toMatchObject({
      Type: 'Permanent',
      Class: 'RecipientInvalid',
      Scope: 'recipient',
      Phase: 'Session',
      SmtpCode: 550,
      EnhancedCode: '5.1.1',
    });
  });
});

it('a delivery that may have been repeated is marked in the list and at its recipient, and can be found', async () => {
  let dots = 0;
  const relay = await startScriptedMx({
    get dot() {
      dots += 1;
      return dots === 1 ? ({ do: 'reset' } as const) : '250 2.0.0 Ok';
    },
  });
  scope.defer(() => relay.close());
  const node = await startInstance(scope, { settings: { route: `smtp://127.0.0.1:${relay.port}` } });
  await addDomain(node, 'example.com');
  const id = await node.send({ Subject: 'twice' });
  await until('its outcome is unknown', async () => (await node.statusOf(id)) === 'Deferred');
  expect((await node.call('POST', `/email/${id}/retry`)).status).toBe(200);
  expect((await node.settled(id)).Recipients).toMatchObject([
    { Status: 'Delivered', PossibleDuplicate: true },
  ]);
  const once = await node.send({ Subject: 'once' });
  expect((await node.settled(once)).Recipients).toMatchObject([
    { Status: 'Delivered', PossibleDuplicate: false },
  ]);
  const list = async (query: string) => (await node.call('GET', `/events?RetrieveCount=100${query}`)).json;
  const all = (await list('')).Events as { Event: string; PossibleDuplicate?: true }[];
  expect(all.length).toBeGreaterThan(4);
  expect(all.filter((event) => 'PossibleDuplicate' in event)).toEqual([
    expect.objectContaining({ Event: 'delivered', PossibleDuplicate: true }),
  ]);
  expect(await list('&PossibleDuplicate=true')).toMatchObject({
    TotalRecords: 1,
    Events: [{ Event: 'delivered', Message: { Headers: { MessageId: id } }, PossibleDuplicate: true }],
  });
  expect((await list('&PossibleDuplicate=true&Event=bounced')).TotalRecords).toBe(0);
});

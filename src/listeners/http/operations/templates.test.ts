/** Templates through the API: storing, versions, rendering, tenancy, mistakes with their places, and mail made of them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';
import { MAX_TEMPLATES_PER_DOMAIN } from './templates.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const WELCOME = {
  Subject: 'Welcome, {{name | default: "friend"}}',
  HTMLContent: '<p>Hello {{name}}, <a href="https://example.com/c?t={{token}}">go</a></p>',
  PlainContent: 'Hello {{name}}: {{token}}',
};
let count = 0;
const create = (more: object = {}, token = world.tokens.own) =>
  world.call('POST', '/templates', { token, body: { Name: `t${++count}`, ...WELCOME, ...more } });
const made = async (more: object = {}): Promise<string> => {
  const reply = await create(more);
  expect(reply.status, reply.text).toBe(201);
  return reply.json().TemplateID as string;
};
const render = (id: string, body: object) => world.call('POST', `/templates/${id}/render`, { body });
const errors = (reply: { json(): Record<string, unknown> }) =>
  reply.json().Errors as Record<string, unknown>[];
const mail = (fields: object) => {
  const { Subject, ContentType, HTMLContent, ...rest } = MAIL;
  return world.call('POST', '/email', { body: { ...rest, ...fields } });
};
/** The composed message of an accepted request. */
async function rawOf(reply: {
  status: number;
  text: string;
  json(): Record<string, unknown>;
}): Promise<string> {
  expect(reply.status, reply.text).toBe(200);
  return (await world.call('GET', `/email/${reply.json().MessageID}/raw`)).text;
}

describe('a template', () => {
  it('is stored, read, changed and removed; every change is a version', async () => {
    const first = await create({ Name: 'Welcome' });
    expect(first.status).toBe(201);
    const { TemplateID: id, CreatedAt } = first.json();
    expect(first.headers.location).toBe(`/api/v1/templates/${id}`);
    expect(first.json()).toEqual({
      TemplateID: id,
      Domain: 'example.com',
      Name: 'Welcome',
      Version: 1,
      CreatedAt,
      UpdatedAt: CreatedAt,
      ...WELCOME,
      Variables: ['name', 'token'],
      Versions: [{ Version: 1, CreatedAt }],
    });
    expect((await world.call('GET', `/templates/${id}`)).json()).toEqual(first.json());

    const body = { Name: 'Hello', PlainContent: 'Hi {{name}}' };
    const second = await world.call('PUT', `/templates/${id}`, { body });
    expect(second.json()).toMatchObject({ Name: 'Hello', Version: 2, Subject: null, HTMLContent: null });
    const old = await world.call('GET', `/templates/${id}?Version=1`);
    expect(old.json()).toMatchObject({ Name: 'Hello', Version: 1, ...WELCOME });
    expect((old.json().Versions as object[]).length).toBe(2);
    expect((await world.call('GET', `/templates/${id}?Version=3`)).status).toBe(404);

    expect((await world.call('DELETE', `/templates/${id}`)).text).toBe('{}');
    for (const [method, path] of [
      ['GET', `/templates/${id}`],
      ['DELETE', `/templates/${id}`],
      ['POST', `/templates/${id}/render`],
    ] as const) {
      const body = method === 'POST' ? { body: {} } : {};
      expect((await world.call(method, path, body)).status).toBe(404);
    }
    expect(codesOf(await mail({ TemplateID: id }))).toEqual([15]);
  });

  it('belongs to its domain: others do not see, change, render or send it', async () => {
    const id = await made();
    const token = world.tokens.other;
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/render'],
    ] as const) {
      const reply = await world.call(method, `/templates/${id}${path}`, {
        token,
        ...(method === 'POST' || method === 'PUT' ? { body: WELCOME } : {}),
      });
      expect(reply.status, method).toBe(404);
    }
    expect((await world.call('GET', '/templates', { token })).json().Items).toEqual([]);
    const body = { ...MAIL, From: { email: 'a@other.example' }, TemplateID: id };
    expect(codesOf(await world.call('POST', '/email', { token, body }))).toEqual([15]);
    // Nor does a caller of both domains send it from the wrong one.
    const admin = world.tokens.admin;
    expect(codesOf(await world.call('POST', '/email', { token: admin, body }))).toEqual([15]);
    expect((await world.call('GET', '/templates', { token: world.tokens.narrow })).status).toBe(403);
    expect(codesOf(await create({}, admin))).toEqual([2003]);
    expect((await create({ Domain: 'other.example' }, admin)).json()).toMatchObject({
      Domain: 'other.example',
    });
  });

  it('is listed newest first, page by page, and found by its name', async () => {
    const ids = [
      await made({ Name: 'list-1' }),
      await made({ Name: 'list-2' }),
      await made({ Name: 'list-3' }),
    ];
    const page = (await world.call('GET', '/templates?Limit=2')).json();
    expect((page.Items as { TemplateID: string }[]).map((item) => item.TemplateID)).toEqual([ids[2], ids[1]]);
    expect(page.HasMore).toBe(true);
    const next = (await world.call('GET', `/templates?Limit=2&After=${page.NextCursor}`)).json();
    expect((next.Items as { TemplateID: string }[])[0]?.TemplateID).toBe(ids[0]);
    const found = (await world.call('GET', '/templates?Name=list-2')).json();
    expect(found.Items).toHaveLength(1);
    expect((found.Items as object[])[0]).not.toHaveProperty('HTMLContent');
    const namesOf = async (query: string) => {
      const { Items, NextCursor } = (await world.call('GET', `/templates?${query}`)).json() as {
        Items: { Name: string }[];
        NextCursor: string | null;
      };
      return [Items.map(({ Name }) => Name), NextCursor] as const;
    };
    const [first, cursor] = await namesOf('Search=LIST%20-&Limit=2');
    expect(first).toEqual(['list-3', 'list-2']);
    expect(await namesOf(`Search=LIST%20-&Limit=2&After=${cursor}`)).toEqual([['list-1'], null]);
    expect(await namesOf(`Search=${ids[1]}`)).toEqual([['list-2'], null]);
    expect(await namesOf('Search=list%20nowhere')).toEqual([[], null]);
  });

  it('has a name of its own, at least one text, and no control characters', async () => {
    await made({ Name: 'taken' });
    expect(codesOf(await create({ Name: 'taken' }))).toEqual([2101]);
    const other = await made();
    expect(
      codesOf(await world.call('PUT', `/templates/${other}`, { body: { ...WELCOME, Name: 'taken' } })),
    ).toEqual([2101]);
    const none = { Subject: undefined, HTMLContent: '', PlainContent: undefined };
    for (const body of [none, { Name: '' }, { Name: 'a\nb' }, { HTMLContent: 5 }]) {
      expect((await create(body)).status, JSON.stringify(body)).toBe(422);
    }
  });

  it('is made once for one Idempotency-Key', async () => {
    const request = { headers: { 'idempotency-key': 'template' }, body: { Name: 'once', ...WELCOME } };
    const [a, b] = [
      await world.call('POST', '/templates', request),
      await world.call('POST', '/templates', request),
    ];
    expect(b.headers['idempotency-replayed']).toBe('true');
    expect(b.json().TemplateID).toBe(a.json().TemplateID);
  });

  it('reports every mistake with its line and column', async () => {
    const reply = await create({ Subject: '{{#a}}', HTMLContent: '<p>\n  {{name\n</p>', PlainContent: 'ok' });
    expect(reply.status).toBe(422);
    expect(errors(reply)).toEqual([
      expect.objectContaining({
        Code: 2102,
        Name: 'template-invalid',
        Field: '/Subject',
        Line: 1,
        Column: 1,
      }),
      expect.objectContaining({ Code: 2102, Field: '/HTMLContent', Line: 2, Column: 3 }),
    ]);
    expect(errors(reply)[1]?.Message).toContain('line 2, column 3');
  });

  it('is one of at most a thousand in its domain', async () => {
    const add = (i: number, domain: string) =>
      world.store.addTemplate({
        id: `full-${i}`,
        domain,
        name: `full-${i}`,
        texts: { subject: 'x', html: null, text: null },
        maxPerDomain: MAX_TEMPLATES_PER_DOMAIN,
        now: 1,
      });
    await Promise.all(Array.from({ length: MAX_TEMPLATES_PER_DOMAIN }, (_, i) => add(i, 'other.example')));
    expect(codesOf(await create({}, world.tokens.other))).toEqual([2105]);
  });
});

describe('rendering', () => {
  it('fills every text in, and says what was missing', async () => {
    const id = await made();
    const reply = await render(id, { Variables: { name: '<Ann>', token: 'a&b' } });
    expect(reply.json()).toEqual({
      Subject: 'Welcome, <Ann>',
      HTMLContent: '<p>Hello &lt;Ann&gt;, <a href="https://example.com/c?t=a%26b">go</a></p>',
      PlainContent: 'Hello <Ann>: a&b',
      Missing: [],
      Version: 1,
    });
    expect((await render(id, {})).json()).toMatchObject({
      Subject: 'Welcome, friend',
      PlainContent: 'Hello : ',
      Missing: ['name', 'token'],
    });
  });

  it('takes an old version', async () => {
    const id = await made();
    await world.call('PUT', `/templates/${id}`, { body: { PlainContent: 'Two' } });
    expect((await render(id, {})).json()).toMatchObject({ PlainContent: 'Two', Subject: null, Version: 2 });
    expect((await render(id, { Version: 1 })).json()).toMatchObject({ PlainContent: 'Hello : ', Version: 1 });
    expect(codesOf(await render(id, { Version: 9 }))).toEqual([422]);
  });

  it('refuses strictly with every missing variable', async () => {
    const reply = await render(await made({ PlainContent: '{{a.b}}' }), { Strict: true });
    expect(errors(reply).map(({ Code, Field }) => `${Code} ${Field}`)).toEqual([
      '2104 /Variables/name',
      '2104 /Variables/token',
      '2104 /Variables/a/b',
    ]);
  });

  it('refuses what has no form as text, and what is no object', async () => {
    const id = await made();
    const reply = await render(id, { Variables: { name: ['a'], token: 1 } });
    expect(errors(reply)[0]).toMatchObject({ Code: 2103, Field: '/Variables', Line: 1, Column: 10 });
    expect((await render(id, { Variables: [] })).status).toBe(422);
    expect((await render(id, { Version: 0 })).status).toBe(422);
  });
});

describe('POST /email with a TemplateID', () => {
  it('takes from the template what the request leaves out', async () => {
    const TemplateID = await made();
    const raw = await rawOf(await mail({ TemplateID, Variables: { name: 'Ann', token: 'x y' } }));
    expect(raw).toContain('Subject: Welcome, Ann\r\n');
    expect(raw).toContain('multipart/alternative');
    expect(raw).toContain('Hello Ann: x y');
    expect(raw).toContain('t=3Dx%20y');
  });

  it('lets what is given win, and takes ids in any case', async () => {
    const TemplateID = (await made()).toUpperCase();
    const raw = await rawOf(
      await mail({ templateid: TemplateID, variables: { name: 'Ann' }, Subject: 'Mine', PlainContent: '' }),
    );
    expect(raw).toContain('Subject: Mine\r\n');
    expect(raw).not.toContain('text/plain');
    expect(raw).toContain('Hello Ann');
  });

  it('sends text alone where the template has no HTML, and any version', async () => {
    const TemplateID = await made();
    await world.call('PUT', `/templates/${TemplateID}`, {
      body: { Subject: 'Two', PlainContent: 'Only {{name}}' },
    });
    const raw = await rawOf(await mail({ TemplateID, Variables: { name: 'text' } }));
    expect(raw).toContain('Subject: Two\r\n');
    expect(raw).toContain('Only text');
    expect(raw).not.toContain('text/html');
    expect(await rawOf(await mail({ TemplateID, TemplateVersion: 1 }))).toContain(
      'Subject: Welcome, friend\r\n',
    );
    expect(codesOf(await mail({ TemplateID, TemplateVersion: 7 }))).toEqual([15]);
  });

  it('keeps line breaks of variables out of the header', async () => {
    const TemplateID = await made();
    const name = 'x\r\nBcc: evil@example.net\r\n\r\nbody';
    const raw = await rawOf(await mail({ TemplateID, Variables: { name, token: 't' } }));
    expect(raw).toContain('Subject: Welcome, x Bcc: evil@example.net body\r\n');
    expect(raw.split('\r\n\r\n')[0]).not.toMatch(/^bcc:/im);
  });

  it('refuses mistakes once, with names and places', async () => {
    const TemplateID = await made();
    const shown = async (fields: object) =>
      errors(await mail(fields)).map(({ Code, Field }) => `${Code} ${Field}`);
    expect(await shown({ TemplateID: '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b' })).toEqual(['15 /TemplateID']);
    expect(await shown({ TemplateID: 'welcome' })).toEqual(['15 /TemplateID']);
    expect(await shown({ TemplateID: 5 })).toEqual(['1108 /TemplateID']);
    expect(await shown({ TemplateID, TemplateVersion: 1.5 })).toEqual(['1108 /TemplateVersion']);
    expect(await shown({ TemplateID, Variables: 'x' })).toEqual(['1108 /Variables']);
    expect(await shown({ TemplateID, StrictVariables: 1 })).toEqual(['1108 /StrictVariables']);
    expect(await shown({ TemplateID, Variables: { name: {} } })).toEqual(['2103 /Variables']);
    expect(await shown({ TemplateID, StrictVariables: true })).toEqual([
      '2104 /Variables/name',
      '2104 /Variables/token',
    ]);
    expect(await shown({ ...MAIL, Variables: {} })).toEqual(['422 /Variables']);
    const textOnly = await made({ Subject: undefined, HTMLContent: undefined });
    expect(await shown({ TemplateID: textOnly })).toEqual(['8 /Subject']);
  });

  it('does the same for a large request, in the worker', async () => {
    const TemplateID = await made();
    const file = { Content: Buffer.alloc(400_000, 'a').toString('base64'), Filename: 'a.txt' };
    const large = (fields: object) => mail({ TemplateID, Attachments: [file], ...fields });
    const raw = await rawOf(await large({ Variables: { name: 'Large', token: 't' } }));
    expect(raw).toContain('Subject: Welcome, Large\r\n');
    expect(raw).toContain('Hello Large: t');
    expect(await rawOf(await large({ Variables: { name: 'Again' } }))).toContain(
      'Subject: Welcome, Again\r\n',
    );
    expect(codesOf(await large({ TemplateID: '0193a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b' }))).toEqual([15]);
    expect(codesOf(await large({ StrictVariables: true }))).toEqual([2104, 2104]);
  });
});

describe('POST /email/batch', () => {
  it('fills each message’s own template with its own variables, and refuses each by itself', async () => {
    const [welcome, bye] = [
      await made(),
      await made({ Subject: 'Bye, {{name}}', HTMLContent: '<p>Bye</p>' }),
    ];
    const { Subject: _subject, ContentType: _type, HTMLContent: _html, ...base } = MAIL;
    const item = (fields: object) => ({ ...base, ...fields });
    const reply = await world.call('POST', '/email/batch', {
      body: {
        Messages: [
          item({ TemplateID: welcome, Variables: { name: 'Ann', token: 'one' } }),
          item({ TemplateID: bye, Variables: { name: 'Bob' } }),
          item({ TemplateID: '00000000-0000-7000-8000-000000000000', Variables: {} }),
          item({ TemplateID: welcome, Variables: {}, StrictVariables: true }),
          item({ TemplateID: welcome, Variables: { name: 'Cleo', token: 'two' } }),
        ],
      },
    });
    const { Results, Accepted, Rejected } = reply.json() as {
      Results: { MessageID?: string; Errors?: { Code: number }[] }[];
      Accepted: number;
      Rejected: number;
    };
    expect([Accepted, Rejected]).toEqual([3, 2]);
    expect(Results[2]?.Errors?.[0]?.Code).toBe(15);
    expect(Results[3]?.Errors).toHaveLength(2);
    const subjects: unknown[] = [];
    for (const { MessageID } of Results) {
      if (MessageID === undefined) continue;
      subjects.push((await world.call('GET', `/email/${MessageID}`)).json().Subject);
    }
    expect(subjects).toEqual(['Welcome, Ann', 'Bye, Bob', 'Welcome, Cleo']);
    const other = await world.call('POST', '/email/batch', {
      token: world.tokens.other,
      body: { Messages: [item({ From: { email: 'a@other.example' }, TemplateID: welcome, Variables: {} })] },
    });
    expect(other.json()).toMatchObject({ Accepted: 0, Results: [{ Errors: [{ Code: 15 }] }] });
  });
});

describe('a template that an earlier version took and this one refuses', () => {
  const html = '<a href="https://{{host}}/">a</a>';
  it('says so with its place, and can be read and mended', async () => {
    const id = '01900000-0000-7000-8000-00000000000a';
    const texts = { subject: 'x', html, text: null };
    const given = { id, domain: 'example.com', name: 'from before', texts, maxPerDomain: 1000 };
    expect(await world.store.addTemplate({ ...given, now: world.clock.now() })).toBe('added');
    expect((await world.call('GET', `/templates/${id}`)).json()).toMatchObject({
      HTMLContent: html,
      Variables: [],
    });
    const wrong = { Code: 2102, Field: '/HTMLContent', Line: 1, Column: 18 };
    for (const size of [1, 300_000]) {
      const variables = { host: 'a.example', filler: 'x'.repeat(size) };
      const reply = await mail({ TemplateID: id, Variables: variables });
      expect(errors(reply)[0], `${size}`).toMatchObject(wrong);
    }
    expect(errors(await render(id, {}))[0]).toMatchObject(wrong);
    const mended = await world.call('PUT', `/templates/${id}`, { body: { ...WELCOME } });
    expect(mended.status, mended.text).toBe(200);
  });
});

describe('a template that costs much', () => {
  const mainMs = async (work: () => Promise<unknown>): Promise<number> => {
    const before = process.threadCpuUsage();
    await work();
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1000;
  };
  const l = Array.from({ length: 1_500 }, () => 0);

  it('is filled in by a worker, and refused with the reason: the event loop stood still for seconds', async () => {
    const id = await made({ HTMLContent: '{{#l}}{{v}}{{/l}}' });
    const Variables = { l, v: '\u0000'.repeat(40_000) };
    const replies: Awaited<ReturnType<typeof render>>[] = [];
    const ms = await mainMs(async () => {
      replies.push(await render(id, { Variables }));
      replies.push(await mail({ TemplateID: id, Variables }));
    });
    for (const reply of replies) {
      expect(errors(reply)[0]).toMatchObject({
        Code: 2103,
        Message: expect.stringContaining('reads more than'),
      });
    }
    expect(ms).toBeLessThan(1_000);
  });

  it('fills in the same in a worker as here, in a render, a message, a batch and a large body', async () => {
    const id = await made({ HTMLContent: '<p>{{#l}}{{v}}{{/l}}</p>', PlainContent: 'x' });
    const Variables = { l, v: 'a'.repeat(100) };
    const html = `<p>${'a'.repeat(150_000)}</p>`;
    expect((await render(id, { Variables })).json()).toMatchObject({ HTMLContent: html, Version: 1 });
    await world.call('PUT', `/templates/${id}`, { body: { ...WELCOME, HTMLContent: '{{v}}' } });
    const large = { Variables: { ...Variables, filler: 'x'.repeat(300_000) }, Version: 1 };
    expect((await render(id, large)).json()).toMatchObject({ HTMLContent: html, Version: 1 });
    const message = { TemplateID: id, TemplateVersion: 1, Variables };
    expect(await rawOf(await mail(message))).toContain('aaaaaaaa');
    const { Subject, ContentType, HTMLContent, ...base } = MAIL;
    const batch = await world.call('POST', '/email/batch', { body: { Messages: [{ ...base, ...message }] } });
    expect(batch.json()).toMatchObject({ Accepted: 1, Rejected: 0 });
  });

  it('is stored, shown and rendered by a worker where it is large', async () => {
    const HTMLContent = `<p>${'x'.repeat(200_000)}{{name}}</p>`;
    const id = await made({ HTMLContent });
    expect((await world.call('GET', `/templates/${id}`)).json()).toMatchObject({
      HTMLContent,
      Variables: ['name', 'token'],
    });
    expect((await render(id, { Variables: { name: 'Ann' } })).json().HTMLContent).toContain('xAnn</p>');
    const wrong = await create({ HTMLContent: `${'x'.repeat(200_000)}{{#a}}` });
    expect(errors(wrong)[0]).toMatchObject({ Code: 2102, Line: 1, Column: 200_001 });
  });
});

describe('a change that names the version it was made from', () => {
  const put = (id: string, body: object) => world.call('PUT', `/templates/${id}`, { body });

  it('is stored while that is the newest, and refused without any effect afterwards', async () => {
    const id = await made();
    expect((await put(id, { ...WELCOME, Subject: 'Mine', Version: 1 })).json()).toMatchObject({ Version: 2 });
    const late = await put(id, { ...WELCOME, Name: 'Late', Subject: 'Theirs', Version: 1 });
    expect([late.status, codesOf(late)]).toEqual([409, [2106]]);
    expect(errors(late)[0]).toMatchObject({ Field: '/Version' });
    const kept = (await world.call('GET', `/templates/${id}`)).json();
    expect(kept).toMatchObject({ Version: 2, Subject: 'Mine' });
    expect(kept.Name).not.toBe('Late');
    expect((await put(id, { ...WELCOME, Version: 3 })).status).toBe(409);
    expect((await put(id, { ...WELCOME, Version: 0 })).status).toBe(422);
    expect((await put(id, { ...WELCOME })).json()).toMatchObject({ Version: 3 });
  });

  it('is stored once when two people send it at the same time', async () => {
    const id = await made();
    const both = ['a', 'b'].map((Subject) => put(id, { ...WELCOME, Subject, Version: 1 }));
    expect((await Promise.all(both)).map(({ status }) => status).sort()).toEqual([200, 409]);
  });

  it('makes no version of a name alone', async () => {
    const id = await made();
    const renamed = await put(id, { Name: `named ${id}` });
    expect(renamed.json()).toMatchObject({ Name: `named ${id}`, Version: 1, ...WELCOME });
    expect((await put(id, { Name: 'x', Subject: '' })).status).toBe(422);
    expect((await put(id, { Version: 1 })).status).toBe(422);
  });
});

describe('texts that are not stored', () => {
  const renderTexts = (body: object) => world.call('POST', '/templates/render', { body });

  it('are filled in like those of a template', async () => {
    const reply = await renderTexts({ ...WELCOME, Variables: { name: '<Ann>' } });
    expect(reply.json()).toEqual({
      Subject: 'Welcome, <Ann>',
      HTMLContent: '<p>Hello &lt;Ann&gt;, <a href="https://example.com/c?t=">go</a></p>',
      PlainContent: 'Hello <Ann>: ',
      Missing: ['token'],
      Variables: ['name', 'token'],
    });
    const none = { Subject: null, HTMLContent: null, PlainContent: null, Missing: [], Variables: [] };
    expect((await renderTexts({})).json()).toEqual(none);
    expect(codesOf(await renderTexts({ ...WELCOME, Strict: true }))).toEqual([2104, 2104]);
  });

  it('have every mistake named with its place, and those of the variables', async () => {
    const wrong = await renderTexts({ Subject: 'Hi {{name', HTMLContent: '<p>\n{{#a}}</p>' });
    expect(errors(wrong)).toMatchObject([
      { Code: 2102, Field: '/Subject', Line: 1, Column: 4 },
      { Code: 2102, Field: '/HTMLContent', Line: 2, Column: 1 },
    ]);
    expect(codesOf(await renderTexts({ ...WELCOME, Variables: { name: [1] } }))).toEqual([2103]);
    expect((await renderTexts({ ...WELCOME, Variables: [] })).status).toBe(422);
  });

  it('are filled in the same way by a worker where they are large or take long', async () => {
    const l = Array.from({ length: 1_500 }, () => 0);
    const long = { HTMLContent: '{{#l}}{{v}}{{/l}}', Variables: { l, v: 'a'.repeat(100) } };
    expect((await renderTexts(long)).json()).toMatchObject({ HTMLContent: 'a'.repeat(150_000) });
    const HTMLContent = `<p>${'x'.repeat(300_000)}{{name}}</p>`;
    const large = await renderTexts({ HTMLContent, Variables: { name: 'Ann' } });
    expect(large.json()).toMatchObject({ Variables: ['name'], Missing: [] });
    expect(large.json().HTMLContent).toContain('xAnn</p>');
    const wrong = await renderTexts({ HTMLContent: `${'x'.repeat(200_000)}{{#a}}` });
    expect(errors(wrong)[0]).toMatchObject({ Code: 2102, Line: 1, Column: 200_001 });
  });
});

describe('a body that no operation needs', () => {
  it('is refused before it is read', async () => {
    const reply = await world.call('POST', '/suppressions', {
      body: { Items: [], Note: 'x'.repeat(600_000) },
    });
    expect(codesOf(reply)).toEqual([1003]);
  });
});

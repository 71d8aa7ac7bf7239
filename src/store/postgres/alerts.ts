/** Alerts of the operator: the open ones, and mails about them until they are accepted for sending. */
import { ALERT, ALERT_MAIL } from '../shared/rows/alerts.ts';
import { texts } from './engine/arrays.ts';
import { read, write } from './engine/operation.ts';
import { appendAll } from './events.ts';
import { isLiving } from './nodes.ts';

export const listAlerts = read('listAlerts', async (db) => {
  const rows = await db.all(`SELECT ${ALERT.columns} FROM alert ORDER BY kind, subject`);
  return rows.map(ALERT.value);
});

export const changeAlerts = write('changeAlerts', { serial: 'alerts' }, async (session, params) => {
  const { db } = session;
  const { began, ended } = params;
  const open = await db.all<{ place: number }>(
    `SELECT g.place FROM unnest($1::text[], $2::text[]) WITH ORDINALITY g (kind, subject, place)
     JOIN alert a ON a.kind = g.kind AND a.subject = g.subject`,
    texts([...began, ...ended].map(({ kind }) => kind)),
    texts([...began, ...ended].map(({ subject }) => subject)),
  );
  const isAsTold = open.length === ended.length && open.every(({ place }) => place > began.length);
  if (!isAsTold || !(await isLiving(db, params.epoch))) return false;
  for (const alert of began) await db.insert('alert', ALERT.row(alert));
  for (const { kind, subject } of ended)
    await db.run('DELETE FROM alert WHERE kind = $1 AND subject = $2', kind, subject);
  const domainId = await session.nameId(params.domain);
  const subject = { domainId, messageSeq: null, deliveryId: null };
  await appendAll(
    session,
    params.events.map((event) => ({ event, subject })),
  );
  if (params.mail !== null) await db.insert('alert_mail', ALERT_MAIL.row(params.mail));
  return true;
});

export const listAlertMails = read('listAlertMails', async (db, { limit }) => {
  const rows = await db.all(`SELECT ${ALERT_MAIL.columns} FROM alert_mail ORDER BY id LIMIT $1`, limit);
  return rows.map(ALERT_MAIL.value);
});

export const removeAlertMail = write('removeAlertMail', { whole: true }, async ({ db }, { id }) => {
  await db.run('DELETE FROM alert_mail WHERE id = $1', id);
});

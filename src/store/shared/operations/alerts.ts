/** Alerts of the operator: the open ones, and mails about them until they are accepted for sending. */
import type { AlertKey, AlertMail, OpenAlert } from '../../topics/alerts.ts';
import { type Db, read, write } from '../operation.ts';
import { record } from '../record.ts';
import type { Work } from '../work.ts';

const ALERT = record<OpenAlert>({ kind: 'plain', subject: 'plain', message: 'plain', since: 'plain' });

const ALERT_MAIL = record<AlertMail>({ id: 'plain', at: 'plain', subject: 'plain', text: 'plain' });

export const listAlerts = read('listAlerts', 'small', {}, function* (db) {
  return (yield* db.all(`SELECT ${ALERT.columns} FROM alert ORDER BY kind, subject`)).map(ALERT.value);
});

export const changeAlerts = write(
  'changeAlerts',
  'by key',
  { synced: true, serial: 'alerts' },
  function* (session, { began, ended, epoch, domain, events, mail }) {
    const { db } = session;
    for (const one of began) if (yield* isOpen(db, one)) return false;
    for (const one of ended) if (!(yield* isOpen(db, one))) return false;
    if (!(yield* session.isLiving(epoch))) return false;
    for (const alert of began) yield* db.insert('alert', ALERT.row(alert));
    for (const { kind, subject } of ended)
      yield* db.run('DELETE FROM alert WHERE kind = ? AND subject = ?', kind, subject);
    const subject = { domainId: yield* session.nameId(domain), messageSeq: null, deliveryId: null };
    for (const event of events) yield* session.appendEvent(event, subject);
    if (mail !== null) yield* db.insert('alert_mail', ALERT_MAIL.row(mail));
    return true;
  },
);

function* isOpen(db: Db, { kind, subject }: AlertKey): Work<boolean> {
  return (yield* db.get('SELECT 1 FROM alert WHERE kind = ? AND subject = ?', kind, subject)) !== undefined;
}

export const listAlertMails = read('listAlertMails', 'as asked', {}, function* (db, { limit }) {
  const rows = yield* db.all(`SELECT ${ALERT_MAIL.columns} FROM alert_mail ORDER BY id LIMIT ?`, limit);
  return rows.map(ALERT_MAIL.value);
});

export const removeAlertMail = write(
  'removeAlertMail',
  'by key',
  { synced: true, whole: true },
  function* ({ db }, { id }) {
    yield* db.run('DELETE FROM alert_mail WHERE id = ?', id);
  },
);

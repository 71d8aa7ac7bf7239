/** Alerts of the operator: the open ones, and mails about them until they are accepted for sending. */
import { ALERT, ALERT_MAIL } from '../shared/rows/alerts.ts';
import { read, write } from './engine/operation.ts';
import { appendEvent } from './events.ts';

export const listAlerts = read('listAlerts', 'small', (db) =>
  db.all(`SELECT ${ALERT.columns} FROM alert ORDER BY kind, subject`).map(ALERT.value),
);

export const changeAlerts = write('changeAlerts', 'by key', { synced: true }, (session, params) => {
  const { db } = session;
  const isOpen = (kind: string, subject: string) =>
    db.get('SELECT 1 FROM alert WHERE kind = ? AND subject = ?', kind, subject) !== undefined;
  if (
    session.hasEnded(params.epoch) ||
    params.began.some(({ kind, subject }) => isOpen(kind, subject)) ||
    !params.ended.every(({ kind, subject }) => isOpen(kind, subject))
  )
    return false;
  for (const alert of params.began) db.insert('alert', ALERT.row(alert));
  for (const { kind, subject } of params.ended)
    db.run('DELETE FROM alert WHERE kind = ? AND subject = ?', kind, subject);
  const domainId = session.nameId(params.domain);
  for (const event of params.events)
    appendEvent(session, event, { domainId, messageSeq: null, deliveryId: null });
  if (params.mail !== null) db.insert('alert_mail', ALERT_MAIL.row(params.mail));
  return true;
});

export const listAlertMails = read('listAlertMails', 'as asked', (db, params) =>
  db
    .all(`SELECT ${ALERT_MAIL.columns} FROM alert_mail ORDER BY id LIMIT ?`, params.limit)
    .map(ALERT_MAIL.value),
);

export const removeAlertMail = write('removeAlertMail', 'by key', { synced: true }, ({ db }, params) => {
  db.run('DELETE FROM alert_mail WHERE id = ?', params.id);
});

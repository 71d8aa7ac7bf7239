/** What the operator was alerted of, as rows. */
import type { AlertMail, OpenAlert } from '../../topics/alerts.ts';
import { record } from '../record.ts';

export const ALERT = record<OpenAlert>({ kind: 'plain', subject: 'plain', message: 'plain', since: 'plain' });

export const ALERT_MAIL = record<AlertMail>({ id: 'plain', at: 'plain', subject: 'plain', text: 'plain' });

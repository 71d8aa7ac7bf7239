/**
 * Automatic replies (RFC 3834 and older conventions): vacation notices, ticket numbers, read receipts. Takes a message;
 * returns the sign by which it is recognised, or null. They arrive at the return path like bounces and must never count
 * as one.
 */
import { decodeWords } from './decode-words.ts';
import { fieldOf, type MimePart } from './mime-tree.ts';
import { readableText } from './readable-text.ts';

/** First words of subjects, lower case. */
const SUBJECTS = [
  'out of office',
  'out of the office',
  'out-of-office',
  'automatic reply',
  'automatic response',
  'auto reply',
  'auto-reply',
  'autoreply',
  'auto response',
  'auto-response',
  'autoresponse',
  'auto:',
  'autoresponder',
  'automated reply',
  'automated response',
  'away from my mail',
  'vacation',
  'on vacation',
  'i am away',
  'abwesenheit',
  'abwesend',
  'automatische rückantwort',
  'eingangsbestätigung',
  'automatische antwort',
  'réponse automatique',
  'absence du bureau',
  "message d'absence",
  'message d’absence',
  'absent du bureau',
  'respuesta automática',
  'fuera de la oficina',
  'ausente de la oficina',
  'ausencia de la oficina',
  'risposta automatica',
  'fuori sede',
  'resposta automática',
  'fora do escritório',
  'ausente do escritório',
  'automatisch antwoord',
  'afwezig',
  'niet aanwezig',
  'autosvar',
  'fraværende',
  'poissa',
  'automatiskt svar',
  'automaattinen vastaus',
  'automatická odpověď',
  'odpowiedź automatyczna',
  'autoodpowiedź',
  'automatická odpoveď',
  'automatikus válasz',
  'răspuns automat',
  'otomatik yanıt',
  'автоответ',
  'автоматический ответ',
  '自動返信',
  '自動応答',
  '不在通知',
  '自動回覆',
  '자동 회신',
  '부재중',
  '自动回复',
  'automatisk svar',
  'automatski odgovor',
  'samodejni odgovor',
  'automatinis atsakymas',
  'automātiska atbilde',
  'automaatvastus',
  'automatyczna odpowiedź',
  'balasan otomatis',
  'trả lời tự động',
  'fuori ufficio',
  'fuera de oficina',
  'absence :',
  'absence:',
  'автоматична відповідь',
  'автоматичен отговор',
  'αυτόματη απάντηση',
  'رد تلقائي',
  'תשובה אוטומטית',
  '自动答复',
];
const PRECEDENCE: ReadonlySet<string> = new Set(['auto_reply', 'auto-reply', 'bulk', 'junk', 'list']);
/** Asks others not to reply; says nothing about this message. */
const NO_SIGN = 'x-auto-response-suppress';

/** The sign that a program wrote `mail` as an automatic reply, or null. */
export function autoReplySign(mail: MimePart): string | null {
  const submitted = (fieldOf(mail, 'auto-submitted') ?? '').toLowerCase();
  if (submitted !== '' && !/^no\b/.test(submitted)) return `Auto-Submitted: ${submitted.slice(0, 60)}`;
  const named = mail.header.fields.find(
    ({ name }) => (name.startsWith('x-auto') && name !== NO_SIGN) || name === 'x-vacation',
  );
  if (named !== undefined) return named.name;
  const precedence = (fieldOf(mail, 'precedence') ?? '').toLowerCase();
  if (PRECEDENCE.has(precedence)) return `Precedence: ${precedence}`;
  return answersBySubject(mail) ? 'its subject' : null;
}

/** Whether a program marked it as its answer (RFC 3834 §5), as Exim marks bounces too. */
export function isAutoReplied(mail: MimePart): boolean {
  return /^auto-replied\b/i.test(fieldOf(mail, 'auto-submitted') ?? '');
}

/** Whether the subject begins as only automatic replies do; no failure report does. */
export function answersBySubject(mail: MimePart): boolean {
  const subject = subjectOf(mail).toLowerCase();
  return SUBJECTS.some((start) => subject.startsWith(start));
}

/** The subject for people, at most 200 characters. */
export function subjectOf(mail: MimePart): string {
  return decodeWords(readableText(fieldOf(mail, 'subject') ?? ''))
    .trim()
    .slice(0, 200)
    .toWellFormed();
}

/**
 * Words that contradict a final refusal of a recipient: to try again later, that something is so for the moment, that
 * sending failed. Nobody says them of an address that does not exist, whatever else is in the reply. Takes a normalised
 * reply (normalise.ts); linear in it.
 */

/** "Check the address and try again" corrects the address, and asks for no patience. */
const CORRECTING =
  /\b(?:check|verify|correct|confirm|make sure|ensure|review)\b[^.;]{0,80}\b(?:try|retry|send|resend)\b(?: (?:it|again|sending|your message|the message)){0,2}/g;

const LATER = new RegExp(
  [
    '\\b(?:try|trying|retry|retried|resend|re-send|send|sent|deliver|come back|attempt)\\b[^.;]{0,40}\\b(?:later|another time|tomorrow|shortly|soon)\\b',
    '\\btry (?:it |once )?(?:again|more)\\b|\\bretry (?:in|after|time|your|the)\\b|\\b(?:please|will be|should be|to be) retr(?:y|ied)\\b',
    '\\b(?:again|back|at a) later\\b|\\blater again\\b|\\bplease wait\\b|\\bin a (?:few|while|moment)\\b',
    // The same in other languages.
    'spater(?: |$)(?:noch|erneut|wieder|nochmal)|\\b(?:erneut|wieder|nochmals?|noch einmal)\\b.{0,20}\\b(?:spater|spaeter|versuchen|senden)|\\bversuchen sie es\\b|\\bspaeter\\b',
    '\\bplus tard\\b|\\bulterieurement\\b|\\breessa\\w{1,5}\\b|\\bmas tarde\\b|\\b(?:reintent|intente(?:lo)? (?:de )?nuev)\\w{0,5}|\\bpiu tardi\\b|\\briprova\\w{0,3}\\b|\\bmais tarde\\b|\\btente (?:novamente|de novo)',
    '\\bprobeer\\b.{0,30}\\b(?:opnieuw|later)\\b|\\blater opnieuw\\b|\\bpozniej\\b|\\bsprobuj\\w{0,3} ponownie|\\bpozdeji\\b|\\bsenere\\b|\\bsenare\\b|\\bmyohemmin\\b|\\bkesobb\\b|\\bmai tarziu\\b|\\bdaha sonra\\b',
    'позже|позднее|повторите|пізніше|稍后|稍候|稍後|再试|再試|重试|重試|後ほど|しばらく|나중에|다시 시도',
  ].join('|'),
);

const FAILED_TO_SEND =
  /\b(?:failure|failed|fault|error|problem|unable|trouble) (?:in |while |when |during |on |of |to |with )?(?:the )?(?:sending|send|submit|submitting|submission|transmi\w{2,6}|transfer\w{0,4})\b|\b(?:sending|submission|transmission|transfer)(?: of \w{1,20})? (?:has |was |is )?(?:fail\w{0,4}|error|not possible)/;

const FOR_THE_MOMENT = new RegExp(
  [
    '\\btemporar(?:y|il?y)\\b|\\btemporarely\\b|\\btransient\\b|\\b(?:at|for) (?:the|this) (?:moment|time)\\b|\\bright now\\b|\\bmomentarily\\b',
    // The same in other languages, without words that also mean "no longer".
    '\\bvoruber ?gehend|\\bvoruebergehend|\\bmomentan\\b|\\bim moment\\b|\\bpour (?:le moment|l.instant)\\b|\\b(?:en este|por el|al|per il|no|neste|de) momento\\b',
    '\\btemporai?r\\w{0,8}\\b|\\btemporalmente\\b|\\bmomentane\\w{0,5}\\b|\\bmomenteel\\b|\\bop dit moment\\b|\\btijdelijk\\b|\\bchwilowo\\b|\\btymczasowo\\b',
    '\\bdocasne\\b|\\bmomentalne\\b|\\btillfallig\\w{0,3}\\b|\\bmidlertidig\\w{0,2}\\b|\\bgecici\\b|\\bsu an(?:da)?\\b|временно|в данныи момент|тимчасово|暂时|暫時|一時|일시',
  ].join('|'),
);

/** `retry`: asks for patience, or says that sending failed. `moment`: it is so now. null: neither. */
export function notFinalIn(subject: string): 'retry' | 'moment' | null {
  if (FAILED_TO_SEND.test(subject) || LATER.test(subject.replace(CORRECTING, ' '))) return 'retry';
  return FOR_THE_MOMENT.test(subject) ? 'moment' : null;
}

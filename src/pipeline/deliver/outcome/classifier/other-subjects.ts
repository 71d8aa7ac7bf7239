/**
 * Subjects other than the recipient that a reply may be about. A text rule sees "address … unknown" and cannot see
 * whose address: the sender's, our host's, or one in a header. So an address is suppressed only if the reply names
 * nothing else that could be unknown, closed or full. Takes a normalised reply (normalise.ts). A wrong answer can only
 * keep an invalid address usable until a clearer reply comes.
 */
import { withoutHosts } from './host-names.ts';
import { HERE, kindsOf } from './meanings.ts';
import { RECIPIENT_WORDS } from './recipient-words.ts';

/** Names that are no words: addresses, links, and Postfix's names of tables. */
const NAMES =
  /(?<!\S)\S{0,200}@\S{0,200}|https?:\/\/\S{1,200}|relay=\[\S{1,60}|(?:relay |local |virtual )?(?:recipient|mailbox|alias|user|domain) table|(?:recipients?|badrcptto|allowed recipients) list|list of allowed recipients|(?:valid_?rcptto|(?:my|our|the) local) list|\bhi \[\d{1,3}(?:\.\d{1,3}){3}\]|(?:known|listed|be|not) on file\b|undeliverable address: host \S{1,200} said:|or you do not have authori[sz]ation/g;

/** Phrases about the recipient's own mail server: `user unknown on this server`. */
const PLACES =
  /\b(?:on|at|in|by|with|within|of|to|from|here|for) (?:(?:this|our|the|that|my|local|remote|recipient|recipient's|destination|target|receiving|hosted) ){0,2}(?:mail|e-?mail|smtp)? ?(?:server|host|domain|system|machine|site)s?\b(?! of\b| you| your)/g;

/** Phrases that address the sender but are about the recipient: `the account you tried to reach`. */
const ADDRESSING =
  /\b(?:that |which )?you(?:'re| are|'ve| have| were)? (?:try|tried|trying|attempt\w{0,4}|enter\w{0,3}|specif\w{0,4}|typed|want\w{0,3}|wish|reach\w{0,4}|contact\w{0,3}|(?:sent|sending|sent your|addressed) (?:your )?(?:message|mail|e-?mail)s? to)\b|\byour recipient(?:'s)? (?:e-?mail )?address\b|\byour (?:original )?(?:message|mail|e-?mail|letter)s?\b|(?:please )?(?:check|verify|make sure) (?:that )?(?:you have the correct (?:e-?mail )?address|the (?:recipient|spelling))|请(?:检查|核对|确认)[^。]{0,12}(?:发送|投递)/g;

const OTHERS = new RegExp(
  [
    // Senders and hosts.
    "\\b(?:sender|senders|sender's|sending|sends|sent|return.?(?:path|address)|reply-?to|envelope|you|your|yours|we don't know|callback|callout|callouts)\\b",
    '\\bverif(?:y|ied|ication|ying) of\\b|\\bfrom(?:$|:| (?:header|address|domain|field|user|your|outside|the internet|external|unknown|hosts?\\b|addresses\\b))|\\bmail from\\b',
    '\\b(?:ips?|ipv[46]|host|hosts|hostname|server|servers|mailserver|mail-server|client|clients|machine|network|networks|isp|connection|connections|connecting|connect|provider|providers|route|router|gateway|relay|relaying|relays)\\b',
    '\\b(?:dns|rdns|fcrdns|ptr|reverse|helo|ehlo|mx|spf|dkim|dmarc|arc|nameserver|zone|record|records|exchanger|tls|ssl|starttls|certificate|certificates)\\b',
    '\\b\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\.\\d{1,3}\\b',
    // The message.
    '\\b(?:header|headers|message-?id|date|signature|signed|mime|encoding|charset|character set|attachment|attachments|attached|link|links|url|urls|content|contents|contains|body|parameter|parameters|option|family|digest|timestamp|format|scanner|virus|zip|archive|message exceeds|larger than|would exceed size)\\b|\\b(?:cc|bcc|to):|header to',
    '^5\\d\\d 5\\.6\\.|^5\\d\\d 5\\.5\\.[14] ',
    // Reasons for refusing it.
    '\\bspam|\\babus(?:e|ive)\\b|\\bhoneypot|\\btraps?\\b|\\bharvest|\\b(?:black|white|block|allow|deny|gr[ae]y) ?-?list|\\blisted\\b|\\breputation\\b|\\bcomplaints?\\b|\\btoo many (?!messages (?:in|on))',
    '\\b(?:policy|policies|rule|rules|filter|filtering|region|country|licen[cs]e|licen[cs]ed|subscription|subscribers?|confirm|challenge|token|approved|whitelisted|trusted|partners?|authenticat\\w{1,6}|unauthenticated|non-authenticated|verification required|external|outside|members?|bulk|trust|permission|access|posting|sales|address book)\\b(?! has left)',
    '\\b(?:per|an|this|last|hourly|daily|today|todays?) ?(?:hour|day|minute|second)\\b|\\b(?:hourly|daily|today|hour|rate|frequency|traffic|sending limit|license limit|number of messages to)\\b',
    // Systems of the receiver.
    '\\b(?:directory service|database|queue|lookup|ldap (?:server|lookup)|map|file|mailer|store|stores|dismounted|offline|migration|maintenance|temporary|timed? ?out|unreachable|all users|these users|our users|users of|storage exhausted|system (?:mail|storage|full))\\b',
    '\\b(?:unknown|no such|invalid|bad) (?:client|host|network|route|destination for|domain|character|parameter|option|header|link|service|name server)|(?:service|policy|zone|domain|account-level|domain name) (?:does not|doesn.t|do not) exist|\\bdomain has moved\\b|\\bno (?:one|person|user|account)\\b.{0,20} (?:wants|reads|needed|input|manager)|deliverable due|undeliverable because',
    // The recipient has blocked the sender, and is not blocked.
    "\\b(?:sie|dich|euch|ihnen)\\b.{0,20}(?:gesperrt|blockiert|geblockt)|\\b(?:vous (?:a|ont)|t'a|t'ont)\\b|\\b(?:le|te|lo|la|os|ti|vi|li|les) (?:ha|han|hanno|as|tiene|tienen|tem|tien)\\b|\\b(?:heeft|hebben) (?:u|jou|je)\\b|\\b(?:te|v)-a\\b|\\b(?:cie|pana?|panstwa|vas|dig|deg|dej|sizi|seni|ont|teged|sinut|teidat|voce|voces)\\b|\\bte (?:bloque|deshabilit|desactiv)|(?:^|\\s)(?:вас|вам|тебя|тебе)(?:\\s|$)|[你妳您]",
    // The same with the recipient as the one who did it: blocked by the recipient.
    "\\b(?:bloque\\w{0,4}|bloccat\\w|blocat\\w?|geblokkeerd|zablokowan\\w{1,2}|blokovan\\w|blockerad|blokeret) (?:por (?:el|la|su|o|a)|pel[oa]|par (?:le |la |l'|son )|dal(?:la|l')?|de catre|door(?: de| het)?|przez|av|af) ?(?:destinat|usuari|utilizador|utilisateur|titular|propietari|utente|titolare|utilizator|ontvanger|gebruiker|odbiorc|uzytkownik|mottagar|anvandar|modtager|bruger)|\\b(?:vom|von der|von dem|durch den|durch die) (?:empfang|empfaeng|benutzer|nutzer|anwender|kunde|inhaber)\\w{0,4} (?:gesperrt|blockiert|geblockt)|заблокир\\S{1,8} (?:получател|пользовател|адресат|владельц)(?:ем|ями|ом)",
    // The same in other languages.
    '\\b(?:originat\\w{0,5}|origin|origine|source|submit\\w{0,5}|authors?|autore?s?|auteur|emisor\\w?|provenienza|herkunft\\w{0,8}|versender\\w?|zrodl\\w{1,3}|kaynak|service account|login of|password)\\b|источник|автор',
    // A blocked address may be the sender's.
    '\\b(?:address(?! rejected)|adresse?|indirizzo|direccion|endereco)\\b.{0,20}(?:blocked|gesperrt|blockiert|bloque|bloccat|bloquead|zablokowan|geblokkeerd)|адрес.{0,20}заблокир|地址.{0,6}(?:阻止|封|拒)',
    '(?:user|account|usuari\\w|utilisateur|compte|conta|cuenta|utente|benutzer|gebruiker|konto|пользователь) smtp\\b|\\bsmtp[- ]?(?:user|account|konto|gebruiker|usuari|compte|用户|ユーザ|사용자)',
    'ヘッダ|件名|本文|格式|헤더|제목|寄信|来自|登录|登錄|认证|認証|ログイン|인증|로그인|\\b(?:syntax (?:not|invalid)|invalid syntax|verified by|automated|owner|unknown users|directory (?:is|not|could))\\b',
    'datenbank|\\bbase de (?:donnees|datos|dados)\\b|\\bbanco de dados\\b|\\bbaz[aey] danych\\b|баз[аеыу] данн|veritaban',
    'postfach(?:speicher|server|dienst)|数据|服务|权限|名单|域名|源|发送|データベース|ドメイン|権限|リスト|발송|도메인|데이터',
    '[a-z]{2}-?doma(?:in|ne|nen|enen?)s?\\b',
    'absender|versand|\\bihr(?:e|em|en|er|es)?\\b|mailserver|\\bserver|speicherdauer|akzeptiert|lehnt',
    "expediteur|emetteur|\\benvois?\\b|\\bvotre\\b|\\bvos\\b|serveur|n'accepte",
    'remitente|\\benvios?\\b|\\bsus?\\b|servidor|no acepta|inverso|registro',
    'mittente|\\binvio\\b|\\bil (?:tuo|suo|vostro)\\b|\\b(?:tuo|tua|vostr[oaei]|suo)\\b|non accetta',
    'remetente|\\b(?:seu|sua|seus|suas)\\b|nao aceita',
    'afzender|\\b(?:uw|jouw|jullie)\\b|avsandar|afsender|avsender|lahettaj|\\b(?:din|dit|deres)\\b',
    'nadawc|\\b(?:twoj\\w{0,3}|panstwa)\\b|odesilatel|odosielatel|felado|expeditor',
    'отправител|ваш|серв|otpravitel|\\bvash',
    '发件|來信|来信|發件|寄件|发送者|发信|您的|你的|服务器|差出|送信|発信|あなた|貴|サーバ',
    'gonderen|gonderici|(?:adres|sunucu|ip|hesab)in(?:iz|in)|발신|보낸|송신|귀하',
  ].join('|'),
);

/** Words of other things that the next steps would accept; the last one is our own return path (mail/verp.ts). */
const ABOUT_ANOTHER =
  /\b(?:postmaster|abuse)@|\bdomain of (?:your|the sender)\b|\b[bgu]-[0-9a-z]{14}-[0-9a-z]{16}@/;

/** Letters of languages with blanks between words; others are only compared with OTHERS. */
const WORDS =
  /[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Arabic}\p{Script=Hebrew}'-]{2,}/gu;
const LOCAL_PART = /([^\s<>@]{1,64})@/g;
/** Host names, and references to a log. */
const MARKS = /[\w-]{1,63}(?:[._:/][\w-]{1,63}){1,10}/g;
/** Kinds of words that describe the state of a mailbox. */
const OF_RECIPIENTS: ReadonlySet<string> = new Set([
  'recipient',
  'absent',
  'closed',
  'full',
  'storage',
  'not',
  'exist',
  'active',
]);
const IPV4 = /\b\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}\b/g;
/** The enhanced code confirms that the reply is about the recipient (RFC 3463 §3.2, §3.3). */
const IN_FIGURES = /^[45]\d\d [45]\.(?:1\.[136]|2\.[12]) /;

/**
 * Whether a reply names anything besides the recipient that it may be about, or contains unknown words. The server,
 * whose name is `mx`, may name itself.
 */
export function namesOtherSubjects(subject: string, mx = ''): boolean {
  if (ABOUT_ANOTHER.test(subject)) return true;
  const said = subject.replace(NAMES, ' ').replace(PLACES, ' ').replace(HERE, ' ').replace(ADDRESSING, ' ');
  // Many servers mention the client: if the enhanced code is clear, an address of ours is ignored.
  if (IN_FIGURES.test(subject)) return OTHERS.test(said.replace(IPV4, ' '));
  if (OTHERS.test(said)) return true;
  // Numbers, and words that contain them, are names too.
  const unnumbered = said.split(/\s/).filter((word) => !/\d/.test(word));
  const words = unnumbered.join(' ').replace(MARKS, ' ').match(WORDS) ?? [];
  const names = new Set(mx.slice(0, 300).toLowerCase().split(/[.-]/));
  // `unknown local part jdoe in <jdoe@example.com>`
  for (const [, local = ''] of subject.matchAll(LOCAL_PART))
    for (const [name] of local.matchAll(WORDS)) names.add(name);
  const isPlain = (word: string) => isKnown(word) || names.has(word);
  return !words.every((word) => isPlain(word) || word.split(/[-']/).every(isPlain));
}

/** What a mailbox that does not exist is never refused for. */
const OTHER_REASONS =
  /\b(?:spf|dkim|dmarc|dnsbl|rbl|spam|unsolicited|reputation|(?:black|block|deny|gr[ae]y) ?-?list(?:ed|ing)?|sender|absender\w{0,20}|expediteur|emetteur|remitente|mittente|remetente|nadawc\w{0,4})\b|отправител/;

/** Whether a reply gives a reason that has nothing to do with the recipient, whatever its codes say. */
export function namesOtherReason(subject: string): boolean {
  return OTHER_REASONS.test(withoutHosts(subject.replace(NAMES, ' ')));
}

function isKnown(word: string): boolean {
  if (word.length < 2 || RECIPIENT_WORDS.has(word)) return true;
  for (const kind of kindsOf(word)) if (OF_RECIPIENTS.has(kind)) return true;
  return false;
}

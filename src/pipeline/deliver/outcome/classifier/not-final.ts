/**
 * Words that contradict a final refusal of a recipient: to try again later, that something is so for the moment, that
 * sending failed, that the mailbox is in a state that ends by itself. Nobody says them of an address that does not exist,
 * whatever else is in the reply. Takes a normalised reply (normalise.ts); linear in it.
 */
import { withoutHosts } from './host-names.ts';

/** Addresses, links and names of mailboxes say nothing by the words in them: `busy@example.net`, `user "busy"`. */
const NAMES =
  /(?<!\S)\S{0,200}@\S{0,200}|https?:\/\/\S{1,200}|(?<!\S)(?:"[^\s"]{1,64}"|'[^\s']{1,64}'|<[^\s<>]{1,64}>)(?=[\s:;,.]|$)|(?<=\b(?:unknown|no such) (?:user|recipient|mailbox|address): )[^\s:;,]{1,64}(?=$|[.;,:])/g;

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

/**
 * A mailbox that is not ready yet, is being worked on, or is in use; a person who is away for a time. Not what ends it:
 * "is being deleted", "pending removal", "no longer in use".
 */
const ENDS_BY_ITSELF = new RegExp(
  [
    '\\byet\\b|\\bnot (?:fully |quite )?(?:ready|initiali[sz]ed)\\b|\\binitiali[sz]ing\\b|\\bbusy\\b|\\bawait(?:s|ing)\\b|\\b(?:requires?|needs?|needs to be|must be) (?:activat|verif|approv|confirm)|\\bmust (?:first )?log ?in\\b|\\buntil (?!further)|\\b(?:incomplete|unfinished|not (?:completed|finished))\\b|\\bread-?only\\b|\\bcorrupt|\\bdamaged\\b|\\bbroken\\b|\\bpending (?!(?:account )?(?:delet|remov|terminat|clos|cancel|suspen))',
    '\\bbeing (?:migrat|mov|creat|restor|repair|rebuil|provision|set ?up|transfer|convert|upgrad|updat|cop[iy]|process|initiali|relocat|renam|backed|re-?index|activat|reactivat|configur|prepar|maintain|serviced|worked|recover|synchron|import|export|review|investigat|verif|check|scann|compact)',
    '\\bwill be (?:back|available|(?:re-?)?activated|created|ready|enabled|restored|migrated|moved|set up|online|open|reachable)\\b|\\bin (?:the )?(?:process of (?!(?:being )?(?:delet|remov|terminat|clos|cancel|suspen|deactiv))|progress|transition|transit|recovery|preparation)\\b|\\b(?:under|undergoing|during|for) (?:\\w{1,20} )?(?:maintenance|repair|review|audit|upgrade|investigation|construction|migration|transition)\\b|\\b(?:maintenance|migration|repair|upgrade|rebuild|restore|sync|conversion) (?:is )?(?:mode|running|under ?way|required|in)\\b|\\b(?:is|currently) (?!being|missing|nothing|existing|refusing|rejecting|bouncing|blocking|denying|exceeding|failing|lacking|expiring|closing|leaving|receiving|accepting|working|overflowing|running|using|persisting|requiring|enforcing|asking|saying|reporting)[a-z]{2,20}ing\\b|\\bmigrating\\b',
    '\\b(?:mailbox|mail ?drop|maildir|account) (?:is )?(?:currently |already |now )?in use\\b|\\b(?:in use|locked|opened|used) by (?:another|other|a different)\\b',
    '\\bon (?:\\w{1,20} )?(?:vacation|holidays?|leave|sabbatical|business trip|trip|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\\b|\\bis (?:ill|sick)\\b|\\bout of (?:the )?office\\b|\\b(?:is|currently|am) away\\b|\\baway (?:until|till|from|for)\\b',
    // The same in other languages.
    '\\bnoch (?:nicht|kein\\w{0,2})\\b|\\burlaub|\\bferien\\b|\\babwesen[dh]|\\bnicht im (?:buro|buero|haus)\\b|\\bausser haus\\b|\\bverreist\\b|\\b(?:wird|werden) (?:gerade|derzeit|aktuell|eben|zurzeit)\\b(?! (?:geloscht|geschlossen|entfernt|gekundigt|aufgelost|deaktiviert|abgeschaltet))|\\bwird (?:\\w{1,12} )?(?:migriert|umgezogen|verschoben|angelegt|eingerichtet|erstellt|vorbereitet|umgestellt|wiederhergestellt|repariert|gewartet|aktiviert|aktualisiert|uberpruft|ubertragen)|\\bin (?:wartung|bearbeitung|vorbereitung|migration|prufung)\\b|\\bim umzug\\b|(?<!nicht )\\bbesetzt\\b|(?<!\\bnicht (?:mehr|langer) .{0,30})\\bbeschaftigt\\b|\\bin benutzung\\b|\\bist (?:er)?krankt?\\b|\\b(?:elternzeit|mutterschutz)\\b|\\b(?:beschadigt|defekt)\\b|\\bdurch einen? ander',
    '\\bpas encore\\b|\\ben (?:cours(?! de (?:suppression|fermeture|resiliation|desactivation|cloture))|vacances|conges?|maintenance|deplacement|migration|travaux|attente)\\b|\\boccupee?\\b|\\b(?:est|destinataire|utilisateur|personne) absente?\\b|\\babsente? (?:du|jusqu|pour)|\\bpar un autre\\b|\\bendommage',
    '\\b(?:aun|todavia) no\\b|\\bno\\b.{0,40} (?:aun|todavia)\\b|\\ben (?:(?:proceso|curso)(?! de (?:elimin|borr|baja|cancel|cierre|desactiv))|mantenimiento|migracion|tramite|espera|revision|reparacion)\\b|\\bvacaciones\\b|\\bfuera de (?:la )?oficina\\b|\\bausente\\b|\\bocupad[oa]\\b|\\bpendiente de (?!elimin|borr|baja|cancel)|\\bsiendo (?:migrad|cread|movid|restaurad|traslad)|\\besta (?:migrando|creando|moviendo|restaurando|trasladando)',
    '\\b(?:non ancora|ancora non)\\b|\\bnon\\b.{0,40} ancora\\b|\\bin (?:(?:fase|corso)(?! di (?:cancell|elimin|chius|rimoz|disattiv))|attesa|manutenzione|migrazione|ferie|vacanza|lavorazione)\\b|\\bfuori (?:ufficio|sede)\\b|\\boccupat[oa]\\b|\\bassente\\b',
    '\\bainda nao\\b|\\bnao\\b.{0,40} ainda\\b|\\bem (?:processo(?! de (?:exclus|elimin|remoc|cancel|encerr|desativ))|andamento|manutencao|migracao|ferias|curso|criacao|transito)\\b|\\bde ferias\\b|\\bfora do escritorio\\b|\\baguardando\\b|\\bpendente de (?!exclu|elimin|remoc|cancel)|\\b(?:sendo|a ser) (?:migrad|criad|movid|restaurad|transferid)',
    '\\bnog (?:niet|geen)\\b|\\b(?:op|met) (?:vakantie|verlof)\\b|\\bafwezig|\\bniet op kantoor\\b|\\bbezet\\b|\\bwacht op\\b|\\bbeschadigd\\b|\\b(?:in|onder) (?:onderhoud|behandeling|migratie)\\b|\\bwordt (?:\\w{1,12} )?(?:gemigreerd|verplaatst|aangemaakt|hersteld|overgezet|geactiveerd|verhuisd)\\b',
    '\\bjeszcze nie\\b|\\bnie\\b.{0,40} jeszcze\\b|\\bw (?:trakcie|toku)\\b(?! (?:usuwan|likwidac|zamykan|kasowan))|\\burlop|\\bpoza biurem\\b|\\bnieobecn|\\bzajet[aey]\\b|\\bjest (?:przenoszon|migrowan|tworzon|odtwarzan|aktywowan)|\\boczekuje\\b',
    '\\b(?:jeste|zatim|este|zatial) n(?:e|ie)\\w|\\bna dovolen|\\bzaneprazdn|\\bobsazen|\\bprobiha\\b|\\bprave (?:presou|vytvar|migr)',
    '\\bannu (?:inte|ej)\\b|\\binte\\b.{0,30} annu\\b|\\b(?:endnu|enna|enda) ikke\\b|\\bikke\\b.{0,30} (?:endnu|enna|enda)\\b|\\bpa (?:semester|ferie)\\b|\\bupptagen\\b|\\boptaget\\b|\\bopptatt\\b|\\b(?:migreras|flyttas|skapas|flyttes|migreres|oprettes|opprettes)\\b',
    '\\bviela\\b|\\blomalla\\b|\\bvarattu\\b|\\bsiirretaan\\b|\\bluodaan\\b|\\bmeg n(?:incs|em)\\b|\\bszabadsagon\\b|\\bfoglalt\\b|\\bfolyamatban\\b|\\binca nu\\b|\\bnu\\b.{0,30} inca\\b|\\bin (?:concediu|curs de|vacanta)\\b|\\bocupata?\\b',
    '\\bhenuz\\b|\\b(?:tatilde|izinde|mesgul|tasiniyor|olusturuluyor|bakimda)\\b|\\bofis disinda\\b|\\bbekliyor\\b|\\bbeklemede\\b|\\b(?:belum|sedang|cuti)\\b',
    '(?:еще|пока) не|(?:^|\\s)ще не|(?:в|у) отпуск|відпустц|(?:^|\\s)занят[аоы]?(?:\\s|$)|зайнят|в процессе(?! (?:удал|закры|отключ))|переноси(?:тся|мо)|переезжает|мигрир|создается|восстанавлива|настраивается|активируется|на обслуживани|командировк|ожидает|поврежд',
    'ακομ[αη]|σε (?:αδεια|διακοπες)|απασχολημεν|בחופשה|עדיין|في اجازة|مشغول',
    '尚未|还未|還未|还没|還沒|正在|维护中|維護中|待批准|出差|损坏|損壞|承認待ち|破損|迁移|遷移|休假|度假|忙|审核|審核|待激活|移行中|作成中|準備中|処理中|休暇|まだ|使用中(?!止)|復旧中|出張|아직|휴가|손상|(?:이전|생성|준비|처리|사용|점검|대기) ?중(?!지)|부재 ?중',
  ].join('|'),
);

/** `passing`: asks for patience, says that sending failed, or that it ends by itself. `moment`: it is so now. null: neither. */
export function notFinalIn(subject: string): 'passing' | 'moment' | null {
  const said = withoutHosts(subject.replace(NAMES, ' '));
  if (FAILED_TO_SEND.test(said) || LATER.test(said.replace(CORRECTING, ' '))) return 'passing';
  if (ENDS_BY_ITSELF.test(said)) return 'passing';
  return FOR_THE_MOMENT.test(said) ? 'moment' : null;
}

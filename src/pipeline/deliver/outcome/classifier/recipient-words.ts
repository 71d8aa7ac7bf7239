/**
 * Words of replies that are only about a recipient, in normalised form: lower case, without accents. Words that could
 * describe something else are left out: a poster, an origin, a tenant, a device. Languages without blanks between words
 * are not included.
 */
export const RECIPIENT_WORDS: ReadonlySet<string> = new Set(
  `
  a all an and any are as at be because been being but by can cannot can't could couldn't currently did didn't directly
  do does doesn't dosn't don't done due either else ever exactly for had has hasn't have haven't he hello hi his her here i i'm if
  in into is isn't it its longer my name named ne neither never new no none nor not now of off ok on one only or our ours out own
  permanent permanently please presently put say says see she should sir so some soon sorry still such temporarily than that
  the their them then there these they this those time times to too under until up was wasn't we were what where which who
  whose will with within won't would yet

  account accounts adresat adress address addressed addressee addressees addresses adresse alias aliases box boxes container
  consumer customer customers delivery destination dropfile email emails employee folder forward forwarding home inbox inboxes
  individual intended letter local locally lower login mail mailaddress mailbox mailboxes maildir mailing mails member message
  messages nobody nosuchuser part person personal persons postbox postmaster quota rcp rcpt rcptto real receiver
  recipient recipient's recipients someone somebody student subscriber subscribers user useraccount userid username users user's
  virtual

  communigate courier cyrus domino dovecot exchange exim groupwise haraka james kerio mailenable mdaemon postfix qmail sendmail
  stalwart zimbra

  accept accepted accepting accepts accountdisabledexception action active activated activity aborted administratively again
  allocated allocation allowance allowed amount archived assigned associated attempted available avail bad badrcptto bogus bounce bounced
  cannot cancelled canceled ceased checked clear closed company configured correct correctly could deactivated dead defined
  deleted deliver deliverable delivered demised denied departed deceased disabled discontinued disconnected disk diskspace doesnt dont
  dormant drop empty enabled enough entered entry error errors exceed exceeded exceeding exceeds exist existed existent existing
  exists expired exhausted fail failed failure fatal final find forbidden forever found free frozen full gone good guess hard
  illegal inactive inactivity inbound incoming incorrect inexistent insufficient invalid known large last later ldap least left limit
  listed located locked logged long mailbox's match matched matching maximum meant misspelled missing months moved must need
  nonexistent non-existent number occupied office old over overdrawn overquota over-quota owner path permitted present problem
  process prohibited quit reach reached read receive received receives receiving recognised recognized refused registered rejected
  rejecting release remains removed requested resolve resolved retired retry return returned returns right routable seems sent size
  space specified spelled spelling storage stored storing suspended taken target terminated than transaction tried try trying
  typo unable unavailable undefined undeliverable unknown unlisted unread unrecognized unresolvable unroutable unrouteable unused
  use used valid validated verified vacant wrong writing years days months weeks year day month works worked
  directory contact administrator explanation learn more information info directly correspondent by mx at smtp esmtp lmtp dsn
  cuda nsu qq dd rc rpt vfy ld chkuser umail poped abc id ref code status reason diagnostic storedrv exception vdeliver maxqin
  mapiexceptionaduserdisabledandhidden spectator inode
  blocked blocks called characters check count depot extended forbided format free generic isblocked log marked mode mta
  normal onto redirect restricted syntax syntactically thank type validate verify visit yourself exeeded intented during hasn't own
 company organization organisation note further details detail enable returns kind regards unfortunately regret appears
  appear seems seem anymore existence double-check checking typos typo unnecessary spaces entering dear delivering former colleague
  graduated alumni department mr mrs person's misspelt typing mistakes mistake

  adresse aktiv auf bekannt bekannte benutzer benutzers besitzt das deaktiviert der des die diese dieser diesem ein eine einen
  empfanger empfangers empfaenger empfaengers empfangeradresse empfaengeradresse erschopft erschoepft es existiert fur fuer gefunden gelaufen
  geschlossen gesperrt gibt gekundigt gekuendigt gueltig gultig hat inaktiv ist kein keine kennwort konto konnte mail-adresse
  nachricht nicht niemand niemanden person postfach postfachs speicher speicherplatz speichervolumen stillgelegt ubervoll uberfullt
  ueberfuellt uberschritten ueberschritten unbekannt unbekannte unbekannter ungultig ungultige ungueltig ungueltige unter
  vergeben voll vorhanden vorubergehend voruebergehend wurde zugestellt zustellbar zuviele

  adresse aux aucun aucune bal boite boites ce cet cette compte comptes courriel dans de depasse depassee des desactive desactivee
  destinataire destinataires disque du el electronique en espace est et existe existant ferme fermee inactif inactive inconnu
  inconnue indisponible inexistant inexistante insuffisant introuvable invalide la le les lettres l'utilisateur l'adresse messagerie
  n'a n'est n'existe nom pas par personne plein pleine plus pour quota resilie sature saturee suspendu suspendue supprime
  supprimee trouve trouvee un une utilisateur valide

  al agotado agotada al bloqueada bloqueado buzon cancelada cancelado casilla cerrada cerrado con contrado correo cuenta cuota de
  del desactivada desactivado desconocida desconocido destinatario destinataria dicha direccion ese esa esta este el electronico
  encontrado encontrada encontro encuentra espacio excedida excedido existe existente ha inactiva inactivo incorrecta inexistente
  insuficiente invalida invalido la lleno llena lo los mas memoria mensaje nadie ningun ninguna no nombre persona por que se
  sin superada superado suspendida suspendido usuario valida

  casella cassetta chiusa conosciuto con da della disabilitata disattivata disattivato disatttivata di e esaurito esaurita esiste
  esistente essere il inattivo inattiva indirizzo inesistente la lo nessun nessuno non nome piena posta quella sconosciuto sconosciuta
  scaduta sospesa sospeso spazio superata trovata trovato un una utente valido

  a caixa cancelada cheia conta correio da de desativada desconhecida desconhecido destinatario do encerrada encontrada
  encontrado endereco espaco esgotado excedida existe foi inativa inexistente invalido lotada mensagem na nao nella o os para
  postal suspensa usuario utilizador

  account adres bestaat deze een e-mailadres gebruiker gebruikersnaam gedeactiveerd geblokkeerd geen geldig gevonden is
  niet niemand onbekend onbekende ongeldig ontvanger opgeheven postbus postvak quotum van vol voor wordt

  adres adresata brak gebruiker i istnieje jest konta konto lub ma na nazwie nie nieaktywne nieprawidlowy nieznany nieznana
  o odbiorca odbiorcy pelna poczty podane podany przepelniona przekroczona skrzynka skrzynki takiego ten uzytkownik uzytkownika
  w zablokowane zamkniete zawieszone znaleziono administracyjnie

  adresa adresat existuje je nebyl nebyla neexistuje nenalezen nenalezena neznama neznamy plna prijemce prijemca schranka tento
  uzivatel uzivatele zrusena

  adressen anvandare anvandaren ar bruker brukeren brukernavn brevlada brevladan der er en et ett finnes findes finns full fuld
  fundet fylld ikke inte kendes mottagare mottagaren mottaker mottakeren modtager modtageren okand och postkasse postkassen
  postlada sparret stangt ukendt ukjent

  cimzett ei ez felhasznalo hesap hesabi ismeretlen kayttaja kullanici kutusu dolu bulunamadi boyle bir gecersiz letezik loydy
  mevcut degil nem olemassa ole posta postafiok megtelt sahip tele tuntematon utilizator utilizatorul inexistent vastaanottaja
  vastaanottajaa yok

  адрес адреса адресат адресата аккаунт аккаунта аккаунты больше была были был в временно для доставлено доставка заблокирован заблокирована заполнен закрыт
  имя и квота квоты наиден наидена не неактивен неверныи недоступен недеиствителен неизвестен неизвестныи нет отключен
  отключена отсутствует переполнен письмо по получатель получателя пользователь пользователя почтовыи почтового почты
  превышен превышена приостановлен с сообщение существует такого такои удален уже указанныи учетная запись электроннои этого ящик
  ящика
  away moved anybody anymore out service or falta uso dada wegen aufgrund powodu isto vagy veya enligt som blivit
  an als aus bei beim bis dann dort durch haben hier im ins jetzt kann mehr mit nach noch nur oder schon sein seit sich sind so uber um und vom von vor war waren weil werden wird wurden zu zum zur zurzeit derzeit leider
  ainsi au avec ca car chez comme dans deja depuis desormais donc elle encore ete etre eu ici il ils jamais lui mais ni on ont ou parmi pendant puis que qui ses si son sont sous sur tres desole malheureusement
  ante aqui asi aun como cual desde donde durante ella entre era es eso estan estar fue haber hasta hay le les muy ni o para pero porque pues quien sea ser si sido siendo sobre son tal tan tiene todo tras uno ya lamentablemente
  ad alla alle anche ancora attualmente che ci come cosi dal dalla del della dello dove ed gia hanno ma mai ne nel nella per perche piu presso qui questa questo se si sono stata stato su sul tale tra
  ao aos as ate das dela dele depois dos ela ele em entre essa esse isso ja mais mas muito nas nem nos num numa ou pela pelo por porque qual se sem ser sobre tem um uma
  aan bij dan dat die dit door en er had heeft het kan maar meer met na naar nog of om onder op over te tot uit want was werd zijn
  aby ale bo byc byl byla bylo co czy dla do gdy go jak jako jego jej juz od oraz po pod przez przy sa sie ta tak tego tej to tu tym we ze zostal zostala zostalo
  a без более бы было быть во все до его ее еще же за из или им к как ко которыи ли над него ни но о об он она они от под при со так также то том у чем что эта это этот
  att av den det de detta dette eller har med mer men nu og om pa til till ved var vid ve ile icin bu da olan olarak artik jako jiz ke nebo pri se si to uz
  assigned address vergeben solcher solches solche moglich bitte prufen sie adresse
  dieses jenes wurden sei estado esta encontra-se consta favor verifique compruebe revise correcto correcta
  indicato indicata risulta presente corretto corretta inserito verificare controllare
  semble incorrecte erronee verifier saisie
  таким такои такому этим этому им ними у нас здесь данныи данного проверьте правильность тут адресом вказано вказании цеи такии в у
  takovy takova pod timto v u nas zde podany prosim
  acest aceasta nu este pe la ten ta u nas tu
  detta denna dette kontrollera kontroller venligst
  yashik yaschik perepolnen polzovatel polzovatelya najden naiden takogo zablokirovan net ne nie otklyuchen pochtovyj
`
    .split(/\s+/)
    .filter((word) => word !== ''),
);

/**
 * Words that stand beside one-time codes, and words that stand beside other numbers, in the languages of the corpus and some
 * more. Stems, so that inflected forms count; a compound that ends like a word for a code (`postcode`) is listed with the
 * others, which win where both end at one place. Case does not count.
 */

const anywhere = (words: string): string => words.split(' ').join('|').replaceAll('_', '[\\s-]?');
const whole = (words: string): string => `(?<![\\p{L}\\p{N}])(?:${anywhere(words)})(?![\\p{L}\\p{N}])`;

/** What announces a code. */
export const CODE_WORD = new RegExp(
  [
    anywhere(
      'code códig codice kod kód passcode password one_time einmal_?passwort passwort kennwort mot_de_passe contraseña clave senha wachtwoord lösenord engångs adgangs koodi tunnusluku salasana hasł heslo jelsz parol şifre code_d код пароль κωδικ رمز كود קוד סיסמ कोड ओटीपी पासवर्ड รหัส 验证码 驗證碼 校验码 动态码 動態碼 确认码 認證碼 コード 認証番号 確認番号 暗証番号 ワンタイム 코드 인증번호 인증_번호 비밀번호 mật_khẩu xác_minh',
    ),
    whole('otp pin tan 2fa mfa token cod codul mã'),
  ].join('|'),
  'giu',
);

/** What announces another number. */
export const OTHER_WORD = new RegExp(
  [
    anywhere(
      'postleitzahl postcode post_code postal_code postal zip_code zip_?code country_code area_code error_code status_code barcode qr_code source_code promo_code promocode discount_code coupon_?code coupon voucher_?code voucher gutschein_?code gutschein rabatt_?code code_promo código_postal codigo_postal código_promocional codice_postale codice_fiscale codice_sconto kod_pocztowy kod_rabatowy posta_kodu postnummer почтов промокод 邮政编码 郵便番号 우편번호 invoice bestell rechnung auftrag kundennummer kunden-nr commande facture pedido factur fatura ordine fattura bestelling factuur zamówieni faktur tilaus objednáv rendelés számla sipariş заказ счет счёт замовлен παραγγελ طلب הזמנה ऑर्डर คำสั่งซื้อ đơn_hàng pesanan 订单 訂單 注文 請求 주문 tracking sendung shipment parcel paket colis envío customer_n account_n ending_in konto iban phone telefon teléfono téléphone telefone hotline p\\.?o\\.?_box postfach copyright street straße strasse company_n registered registration siret огрн инн 電話 电话 전화 โทร điện_thoại הטלפון الهاتف',
    ),
    whole(
      'order orders ticket case ref reference referenz fax tel tél mobile call rue avenue road suite floor plz vat ust-idnr hrb nip version build room page rfc iso plz cap cep psč gate flight vol since seit depuis desde dal sinds od from',
    ),
    '[©℡☎〒№#]',
  ].join('|'),
  'giu',
);

/** Behind a number: what it counts or is the price of. */
export const UNIT =
  /^\s{0,2}(?:[€$£¥₽₹₩%‰°]|円|元|원|(?:eur|usd|gbp|chf|pln|zł|kr|sek|nok|dkk|czk|kč|ft|huf|try|tl|rub|руб|uah|грн|inr|jpy|cny|krw|thb|baht|brl|km|kg|g|mb|gb|kb|ms|px|points?|punkte|pts|points|users?|days?|tage|people|items?|stück|pcs|st(?:reet)?|ave(?:nue)?|road|rd|blvd|copies|followers|likes|orders)(?![\p{L}\p{N}]))/iu;

/** In front of a number: the price of what. */
export const PRICE = /(?:[€$£¥₽₹₩]|(?<![\p{L}])(?:eur|usd|gbp|chf|pln|rs\.?|r\$|kr))\s{0,2}$/iu;

/** What a link is for that a person has to follow: in its text, beside it, or in its address. */
export const ACTION_WORD = new RegExp(
  anywhere(
    'confirm verif activat reset magic log_in login sign_in signin accept invit approve authorize authenticat set-password set_a_new bestätig aktivier anmeld zurücksetz freischalt einladung vérifi activer activez réinitialis connexion connecter verificar activar restablec iniciar_sesión aceptar confirma redefinir entrar ativar attiva reimposta accedi bevestig activeer inloggen uitnodiging potwierdź potwierdz aktywuj zresetuj zaloguj bekräfta aktivera återställ logga_in bekræft nulstil vahvista palauta potvrd obnov megerősít подтвер активир сброс войти підтверд επιβεβ συνδεθ تأكيد تفعيل تسجيل אשר אימות onayla doğrula sıfırla xác_nhận đặt_lại ยืนยัน पुष्टि सत्यापि 确认 确认 验证 激活 重置 登录 確認 認証 再設定 ログイン 확인 인증 재설정 로그인 konfirmasi',
  ),
  'iu',
);

/** What nearly every mail has beside it. */
export const FOOTER_WORD = new RegExp(
  anywhere(
    'unsubscrib opt_out abmeld abbestell austragen désabonn désinscri darse_de_baja baja suscripción descadastr cancelar_inscri disiscri annulla_l afmeld uitschrijv wypisz rezygn avregistrer afmelding отпис відпис 配信停止 退订 取消订阅 수신거부 privacy datenschutz confidentialit privacid terms agb impressum imprint legal mentions faq support help contact kontakt browser webversion view_online preference settings einstellung facebook twitter instagram linkedin youtube tiktok pinterest apps\\.apple play\\.google report not_you',
  ),
  'iu',
);

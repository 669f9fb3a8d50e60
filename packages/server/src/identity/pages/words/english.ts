// What the sign-in pages say, in English; the other languages have the same members.

export const english = {
  language: 'en',
  languageName: 'English',
  languages: 'Language',
  support: 'Help:',
  errorTitle: 'Error',
  colon: ':',
  problem: 'There is a problem',
  back: 'Back',
  cancel: 'Cancel',
  continue: 'Continue',
  signIn: 'Sign in',
  signOut: 'Sign out',
  required: (label: string) => `${label}: please fill this in.`,

  fields: {
    username: 'User name',
    password: 'Password',
    newPassword: 'New password',
    repeatPassword: 'Repeat the new password',
    code: 'One-time code',
    recoveryCode: 'Recovery code',
    sixDigits: 'Six-digit code',
  },

  entry: {
    title: 'Sign in',
    lead: 'First tell us who you are. Your password comes on the next page.',
    label: 'User name with user domain',
    hint: 'For example: jane@acme',
    form: 'Write your user name, then @ and your user domain.',
    unknown: 'We know no user domain of this name. Look it up in your invitation.',
  },

  step: {
    title: 'Sign in',
    to: (name: string) => `to continue to ${name}`,
    toAccount: 'to see your account',
    domain: 'User domain',
    otherDomain: 'Change',
    codeHint: 'From your authenticator app. Leave it empty if you have none, or use a passkey.',
    recoveryHint: 'One of the codes that you saved when you set up one-time codes.',
    useRecovery: 'Use a recovery code',
    useCode: 'Use a one-time code',
    forgotten: 'Forgotten your password?',
    wrong:
      'User name, password and code do not match, or the account cannot sign in now. Check them and try again.',
    busy: (minutes: number) =>
      minutes > 1
        ? `Too many attempts. Try again in ${minutes} minutes.`
        : 'Too many attempts. Try again in a minute.',
  },

  enrolment: {
    title: 'Set up one-time codes',
    required: 'Your organisation asks for a second proof besides your password.',
    optional: 'Besides your password you will be asked for a code from your phone.',
    install: 'Open an authenticator app on your phone, or install one.',
    scan: 'Scan this picture with the app.',
    picture: 'QR code that holds the key below',
    type: 'Or type this key into the app:',
    open: 'On this phone: open the app',
    confirm: 'Type the code that the app shows now.',
    wrong: 'This code is not right. Wait for the next one and type it.',
    submit: 'Confirm',
  },

  recovery: {
    title: 'Save your recovery codes',
    lead: 'If you lose your phone, each of these codes signs you in once in place of a one-time code.',
    once: 'They are shown this once. Print this page, or copy them to a safe place.',
    list: 'Recovery codes',
    saved: 'I have printed or saved my recovery codes',
    savedNeeded: 'Confirm that you have saved the codes.',
    goneTitle: 'Your recovery codes were already shown',
    gone: 'They cannot be shown again. If you did not save them, make new ones. The old ones stop working then.',
    renewLead: 'The codes that you have now will stop working.',
    renew: 'Make new codes',
  },

  passkey: {
    title: 'Use your passkey',
    lead: 'Your password was right. Confirm with your passkey that it is you.',
    submit: 'Use passkey',
    useCode: 'Use a code instead',
    needsScript:
      'A passkey needs JavaScript, which is off in this browser. Sign in with a one-time code or a recovery code instead.',
    failed: 'That did not work, or you cancelled. Try again, or use a code.',
    wrong: 'This passkey was not accepted. Try again, or use a code.',
  },

  forgotten: {
    title: 'Forgotten password',
    lead: 'Tell us your user name or e-mail address. If we know it, a link to set a new password comes by mail.',
    label: 'User name or e-mail address',
    submit: 'Send the link',
    sentTitle: 'Check your mail',
    sent: 'If there is an account of this name, a link is on its way. It works once, within one hour.',
    sentHint: 'Nothing came? Check the spam folder, or ask your administrator.',
    toSignIn: 'Back to sign-in',
  },

  link: {
    activateTitle: 'Choose your password',
    resetTitle: 'Choose a new password',
    for: (domain: string) => `For your account at ${domain}.`,
    rule: (length: number) =>
      `At least ${length} characters. Several words in a row are easy to keep in mind.`,
    submit: 'Save password',
    emailTitle: 'Confirm your e-mail address',
    emailLead: 'Confirm that this address is yours. It is used from then on.',
    emailSubmit: 'Confirm address',
    doneTitle: 'Your password is saved',
    done: 'You can sign in with it now. Everywhere else you have been signed out.',
    activatedTitle: 'Your account is ready',
    activated: 'You can sign in now.',
    emailDoneTitle: 'Your address is confirmed',
    emailDone: 'Messages go to the new address from now on.',
  },

  password: {
    title: 'Change your password',
    lead: 'Everywhere else you will be signed out.',
    too_short: (length: number) => `Too short: use at least ${length} characters.`,
    too_long: 'Too long: use fewer characters.',
    too_common: 'Too easy to guess: use less common words, and more of them.',
    different: 'The two passwords are not the same.',
  },

  confirm: {
    title: 'Confirm that it is you',
    lead: 'To change how you sign in, type your password once more.',
    codeHint: 'From your authenticator app, or a recovery code.',
    wrong: 'Password and code do not match. Check them and try again.',
  },

  account: {
    title: 'Your account',
    signedInAs: 'Signed in as',
    lastSignIn: (when: string) => `Last sign-in: ${when}`,
    methods: 'How you sign in',
    password: 'Password',
    passwordText: 'You are asked for it at every sign-in.',
    change: 'Change',
    changePassword: 'Change password',
    codes: 'One-time codes',
    codesOn: 'Set up. You are asked for a code at every sign-in.',
    codesOff: 'Not set up. A second proof makes your account much safer.',
    setUp: 'Set up',
    setUpCodes: 'Set up one-time codes',
    replace: 'Replace',
    replaceCodes: 'Replace one-time codes',
    recovery: 'Recovery codes',
    recoveryText: 'For the day on which your phone is not at hand.',
    renew: 'Make new',
    renewCodes: 'Make new recovery codes',
    passkeys: 'Passkeys',
    passkeysText: 'Your fingerprint, your face or a security key, in place of a one-time code.',
    passkeysNeedCodes: 'Set up one-time codes first; then you can add passkeys.',
    manage: 'Manage',
    managePasskeys: 'Manage passkeys',
    sessions: 'Where you are signed in',
    thisSession: 'This browser',
    kinds: {
      Browser: 'Browser',
      Password: 'Application or terminal',
      CustomToken: 'Simulated terminal',
    },
    lastSeen: (when: string) => `last used ${when}`,
    since: (when: string) => `since ${when}`,
    endSession: (name: string) => `Sign out: ${name}`,
    endOthers: 'Sign out everywhere else',
    signIns: 'Recent sign-ins',
    outcomes: {
      signedIn: 'Signed in',
      passwordRight: 'Password accepted',
      codesSetUp: 'One-time codes set up',
      refused: 'Refused',
    },
    none: 'Nothing yet.',
    unknownDevice: 'Unknown device',
    device: (browser: string, system: string) => `${browser} on ${system}`,
    saved: {
      password: 'Your password is changed.',
      codes: 'One-time codes are set up.',
      recovery: 'Your new recovery codes are in force.',
      passkey: 'The passkey is added.',
      removed: 'The passkey is removed.',
      session: 'Signed out there.',
      others: 'You are signed out everywhere else.',
    },
  },

  passkeys: {
    title: 'Passkeys',
    lead: 'A passkey confirms your sign-in after the password, in place of a one-time code.',
    none: 'You have no passkey yet.',
    added: (when: string) => `added ${when}`,
    used: (when: string) => `last used ${when}`,
    removeShort: 'Remove',
    remove: (name: string) => `Remove: ${name}`,
    add: 'Add a passkey',
    name: 'Name',
    nameHint: 'So that you can tell your passkeys apart: for example “Work laptop”.',
    defaultName: 'Passkey',
    needsScript: 'To add a passkey, JavaScript must be on in this browser.',
    failed: 'The passkey was not added. Try again.',
  },

  logout: {
    title: 'Sign out?',
    lead: 'You will be signed out of every application of this user domain in this browser.',
    stay: 'Stay signed in',
    doneTitle: 'You are signed out',
    done: 'You can close this page now.',
    again: 'Sign in again',
  },

  faults: {
    request: 'Request',
    staleTitle: 'This sign-in is over',
    stale:
      'It took too long, was finished already, or began in another browser. Go back to the application and sign in again.',
    linkTitle: 'This link no longer works',
    link: 'It has expired, or was used already. Ask for a new one.',
    newLink: 'Ask for a new link',
    realmTitle: 'Unknown user domain',
    realm: 'There is no user domain of this name. Check the address.',
    formTitle: 'Please try again',
    form: 'This form was open for too long, came from elsewhere, or your browser refuses cookies. Open the page again.',
    reopen: 'Open the page again',
    clientTitle: 'This application is not set up correctly',
    client:
      'It sent you here with an identity or a return address that we do not know. You were not sent back, for your safety. Tell those who run the application.',
    deniedTitle: 'You cannot sign in here',
    denied: 'Your account may not use this application.',
    busyTitle: 'Too many requests',
    busy: 'Wait a moment and try again.',
    requestTitle: 'The request was not understood',
    requestText: 'Go back and try again.',
    missingTitle: 'Page not found',
    missing: 'There is nothing at this address.',
    brokenTitle: 'Something went wrong',
    broken: 'The fault is ours. Try again in a moment.',
  },
};

type Widened<Value> = Value extends string
  ? string
  : Value extends (...given: infer Given) => string
    ? (...given: Given) => string
    : { readonly [Key in keyof Value]: Widened<Value[Key]> };

export type Words = Widened<typeof english>;

// Every page with its address and what it is for: the table that docs/concepts/sign-in.md repeats.
import type { createAccount } from './handlers/account.ts';
import type { createAccountChanges } from './handlers/account-changes.ts';
import type { createLinks } from './handlers/email-links.ts';
import type { Enrolment, OpenEnrolment } from './handlers/one-time-code-setup.ts';
import type { SignIn } from './handlers/sign-in.ts';
import type { Front } from './handlers/sign-up.ts';
import type { createEntry } from './handlers/user-domain.ts';
import { entryPath, homePath, signedUpPath, signUpPath } from './html/page-paths.ts';
import type { PageHandler, PageRoute } from './page-routes.ts';

type Handlers = {
  readonly enrolment: Enrolment;
  readonly entry: ReturnType<typeof createEntry>;
  readonly account: ReturnType<typeof createAccount>;
  readonly signIn: SignIn;
  readonly links: ReturnType<typeof createLinks>;
  readonly changes: ReturnType<typeof createAccountChanges>;
};

const portalEntry = `${entryPath}/:to`;
const realm = '/auth/realms/:realm';
const signInBase = `${realm}/sign-in/:uid`;
const activationBase = `${realm}/activation`;
const accountBase = `${realm}/account`;

function get(url: string, operationId: string, summary: string, handler: PageHandler): PageRoute {
  return { method: 'GET', url, operationId, summary, handler };
}

function post(url: string, operationId: string, summary: string, handler: PageHandler): PageRoute {
  return { method: 'POST', url, operationId, summary, handler };
}

/** A page of setting up one-time codes, within whatever flow `open` finds. */
const within =
  (open: OpenEnrolment, act: Enrolment[keyof Enrolment]): PageHandler =>
  async (request, reply) => {
    const flow = await open(request, reply);
    return flow === undefined ? reply : act(flow);
  };

function signInPages({ entry, signIn, enrolment }: Handlers): PageRoute[] {
  const open = signIn.openEnrolment;
  const code = `${signInBase}/one-time-code`;
  const codes = `${signInBase}/recovery-codes`;
  return [
    get(entryPath, 'getEntry', 'Which user domain', entry.get),
    post(entryPath, 'postEntry', 'Go to the user domain', entry.post),
    get(portalEntry, 'getPortalEntry', 'Which user domain, for the portal', entry.get),
    post(portalEntry, 'postPortalEntry', 'Back to the portal', entry.post),
    get(signInBase, 'getSignIn', 'User name, password and code', signIn.get),
    post(signInBase, 'postSignIn', 'Sign in', signIn.post),
    post(`${signInBase}/cancel`, 'cancelSignIn', 'Back to the application', signIn.cancel),
    get(`${signInBase}/passkey`, 'getSignInPasskey', 'Use a passkey', signIn.getPasskey),
    post(`${signInBase}/passkey`, 'postSignInPasskey', 'Check the passkey', signIn.postPasskey),
    get(code, 'getSignInCode', 'Set up one-time codes', within(open, enrolment.get)),
    post(code, 'postSignInCode', 'Confirm the first code', within(open, enrolment.post)),
    get(codes, 'getSignInRecovery', 'Recovery codes, again', within(open, enrolment.getCodes)),
    post(codes, 'postSignInRecovery', 'They are saved', within(open, enrolment.postCodes)),
    post(
      `${codes}/renew`,
      'renewSignInRecovery',
      'Make new ones',
      within(open, enrolment.renewCodes),
    ),
  ];
}

function linkPages({ links, enrolment }: Handlers): PageRoute[] {
  const open = links.openEnrolment;
  const forgotten = `${realm}/forgotten-password`;
  const link = `${realm}/links/:link`;
  const code = `${activationBase}/one-time-code`;
  const codes = `${activationBase}/recovery-codes`;
  return [
    get(forgotten, 'getForgotten', 'Ask for a new password', links.getForgotten),
    post(forgotten, 'postForgotten', 'Mail the link', links.postForgotten),
    get(link, 'getLink', 'What a mailed link is for', links.getLink),
    post(link, 'postLink', 'Use the link', links.postLink),
    get(activationBase, 'getActivation', 'To the sign-in', links.getActivation),
    get(code, 'getActivationCode', 'Set up one-time codes', within(open, enrolment.get)),
    post(code, 'postActivationCode', 'Confirm the first code', within(open, enrolment.post)),
    get(codes, 'getActivationRecovery', 'Recovery codes, again', within(open, enrolment.getCodes)),
    post(codes, 'postActivationRecovery', 'They are saved', within(open, enrolment.postCodes)),
    post(
      `${codes}/renew`,
      'renewActivationRecovery',
      'Make new ones',
      within(open, enrolment.renewCodes),
    ),
  ];
}

function accountPages({ account, changes, enrolment }: Handlers): PageRoute[] {
  const { openCode, openRecovery } = changes;
  const password = `${accountBase}/password`;
  const code = `${accountBase}/one-time-code`;
  const codes = `${accountBase}/recovery-codes`;
  const passkeys = `${accountBase}/passkeys`;
  const sessions = `${accountBase}/sessions`;
  return [
    get(accountBase, 'getAccount', 'Sessions, sign-ins and ways to sign in', account.get),
    post(`${accountBase}/confirm`, 'postConfirm', 'Type the password again', account.confirm),
    post(`${sessions}/end`, 'endSession', 'Sign out one session', account.endSession),
    post(`${sessions}/end-others`, 'endOtherSessions', 'Sign out the others', account.endOthers),
    post(`${accountBase}/sign-out`, 'signOut', 'Sign out here', account.signOut),
    get(`${realm}/signed-out`, 'getSignedOut', 'You are signed out', account.getSignedOut),
    get(password, 'getPassword', 'A new password', changes.getPassword),
    post(password, 'postPassword', 'Change the password', changes.postPassword),
    get(code, 'getAccountCode', 'Set up or replace one-time codes', changes.getCode),
    post(code, 'postAccountCode', 'Confirm the first code', within(openCode, enrolment.post)),
    get(codes, 'getAccountRecovery', 'New recovery codes', changes.getRecovery),
    post(codes, 'postAccountRecovery', 'They are saved', within(openRecovery, enrolment.postCodes)),
    post(`${codes}/renew`, 'renewAccountRecovery', 'Make new ones', changes.renewRecovery),
    get(passkeys, 'getPasskeys', 'Passkeys, and to add one', changes.getPasskeys),
    post(passkeys, 'postPasskey', 'Add a passkey', changes.addPasskey),
    post(`${passkeys}/remove`, 'removePasskey', 'Remove a passkey', changes.removePasskey),
  ];
}

/** Before there is an account. */
export function frontPages(front: Front): PageRoute[] {
  const form = post(signUpPath, 'postSignUpForm', 'Send the sign-up', front.postSignUp);
  return [
    get(homePath, 'getHome', 'What stands here', front.getHome),
    get(signUpPath, 'getSignUpForm', 'Sign up', front.getSignUp),
    // As often as the API takes them, counted together.
    { ...form, rateLimit: 'signUps' },
    get(signedUpPath, 'getSignedUp', 'Check your mail', front.getSignedUp),
  ];
}

export function pageTable(handlers: Handlers): PageRoute[] {
  return [...signInPages(handlers), ...linkPages(handlers), ...accountPages(handlers)];
}

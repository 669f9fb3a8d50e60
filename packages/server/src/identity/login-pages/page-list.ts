// The list of all sign-in pages: address, operation and handler. docs/explanation/sign-in.md repeats it.
import type { createAccountHandlers } from './handlers/account.ts';
import type { createAccountChangeHandlers } from './handlers/account-changes.ts';
import type { createEmailLinkHandlers } from './handlers/email-links.ts';
import type { EnrolmentHandlers, OpenEnrolment } from './handlers/one-time-code-setup.ts';
import type { SignInHandlers } from './handlers/sign-in.ts';
import type { SignUpHandlers } from './handlers/sign-up.ts';
import type { createUserDomainHandlers } from './handlers/user-domain.ts';
import { homePath, signUpPath, signUpReceivedPath, userDomainPath } from './html/page-paths.ts';
import type { PageHandler, PageRoute } from './page-routes.ts';

type PageHandlers = {
  readonly enrolment: EnrolmentHandlers;
  readonly userDomain: ReturnType<typeof createUserDomainHandlers>;
  readonly account: ReturnType<typeof createAccountHandlers>;
  readonly signIn: SignInHandlers;
  readonly links: ReturnType<typeof createEmailLinkHandlers>;
  readonly changes: ReturnType<typeof createAccountChangeHandlers>;
};

const portalUserDomainPath = `${userDomainPath}/:to`;
const realm = '/auth/realms/:realm';
const signInBase = `${realm}/sign-in/:uid`;
const activationBase = `${realm}/activation`;
const accountBase = `${realm}/account`;

function getPage(
  url: string,
  operationId: string,
  summary: string,
  handler: PageHandler,
): PageRoute {
  return { method: 'GET', url, operationId, summary, handler };
}

function postPage(
  url: string,
  operationId: string,
  summary: string,
  handler: PageHandler,
): PageRoute {
  return { method: 'POST', url, operationId, summary, handler };
}

/** A page of the set-up of one-time codes, in the flow that `open` returns. */
const withEnrolment =
  (open: OpenEnrolment, act: EnrolmentHandlers[keyof EnrolmentHandlers]): PageHandler =>
  async (request, reply) => {
    const flow = await open(request, reply);
    return flow === undefined ? reply : act(flow);
  };

function signInPages({ userDomain, signIn, enrolment }: PageHandlers): PageRoute[] {
  const open = signIn.openEnrolment;
  const code = `${signInBase}/one-time-code`;
  const codes = `${signInBase}/recovery-codes`;
  return [
    getPage(userDomainPath, 'getUserDomainForm', 'Show the user domain form', userDomain.get),
    postPage(
      userDomainPath,
      'postUserDomainForm',
      'Continue to the sign-in of the user domain',
      userDomain.post,
    ),
    getPage(
      portalUserDomainPath,
      'getPortalUserDomainForm',
      'Show the user domain form for the portal',
      userDomain.get,
    ),
    postPage(
      portalUserDomainPath,
      'postPortalUserDomainForm',
      'Return to the portal with the user domain',
      userDomain.post,
    ),
    getPage(signInBase, 'getSignIn', 'Show the sign-in form', signIn.getForm),
    postPage(signInBase, 'postSignIn', 'Sign in', signIn.postForm),
    postPage(`${signInBase}/cancel`, 'cancelSignIn', 'Cancel the sign-in', signIn.cancel),
    getPage(
      `${signInBase}/passkey`,
      'getSignInPasskey',
      'Show the passkey page',
      signIn.getPasskey,
    ),
    postPage(
      `${signInBase}/passkey`,
      'postSignInPasskey',
      'Verify the passkey',
      signIn.postPasskey,
    ),
    getPage(
      code,
      'getSignInCode',
      'Show the set-up of one-time codes',
      withEnrolment(open, enrolment.getSetUp),
    ),
    postPage(
      code,
      'postSignInCode',
      'Confirm the first code',
      withEnrolment(open, enrolment.postSetUp),
    ),
    getPage(
      codes,
      'getSignInRecovery',
      'Show the recovery codes page',
      withEnrolment(open, enrolment.getRecoveryCodes),
    ),
    postPage(
      codes,
      'postSignInRecovery',
      'Confirm that the recovery codes are saved',
      withEnrolment(open, enrolment.postRecoveryCodes),
    ),
    postPage(
      `${codes}/renew`,
      'renewSignInRecovery',
      'Create new recovery codes',
      withEnrolment(open, enrolment.renewRecoveryCodes),
    ),
  ];
}

function linkPages({ links, enrolment }: PageHandlers): PageRoute[] {
  const open = links.openEnrolment;
  const forgotten = `${realm}/forgotten-password`;
  const link = `${realm}/links/:link`;
  const code = `${activationBase}/one-time-code`;
  const codes = `${activationBase}/recovery-codes`;
  return [
    getPage(forgotten, 'getForgotten', 'Show the forgotten password form', links.getForgotten),
    postPage(forgotten, 'postForgotten', 'Send the password link', links.postForgotten),
    getPage(link, 'getLink', 'Show the page of an email link', links.getLink),
    postPage(link, 'postLink', 'Use an email link', links.postLink),
    getPage(activationBase, 'getActivation', 'Redirect to the sign-in', links.getActivation),
    getPage(
      code,
      'getActivationCode',
      'Show the set-up of one-time codes',
      withEnrolment(open, enrolment.getSetUp),
    ),
    postPage(
      code,
      'postActivationCode',
      'Confirm the first code',
      withEnrolment(open, enrolment.postSetUp),
    ),
    getPage(
      codes,
      'getActivationRecovery',
      'Show the recovery codes page',
      withEnrolment(open, enrolment.getRecoveryCodes),
    ),
    postPage(
      codes,
      'postActivationRecovery',
      'Confirm that the recovery codes are saved',
      withEnrolment(open, enrolment.postRecoveryCodes),
    ),
    postPage(
      `${codes}/renew`,
      'renewActivationRecovery',
      'Create new recovery codes',
      withEnrolment(open, enrolment.renewRecoveryCodes),
    ),
  ];
}

function accountPages({ account, changes, enrolment }: PageHandlers): PageRoute[] {
  const { openCode, openRecovery } = changes;
  const password = `${accountBase}/password`;
  const code = `${accountBase}/one-time-code`;
  const codes = `${accountBase}/recovery-codes`;
  const passkeys = `${accountBase}/passkeys`;
  const sessions = `${accountBase}/sessions`;
  return [
    getPage(accountBase, 'getAccount', 'Show the account page', account.getAccount),
    postPage(`${accountBase}/confirm`, 'postConfirm', 'Confirm the password', account.confirm),
    postPage(`${sessions}/end`, 'endSession', 'End one session', account.endSession),
    postPage(
      `${sessions}/end-others`,
      'endOtherSessions',
      'End all other sessions',
      account.endOthers,
    ),
    postPage(`${accountBase}/sign-out`, 'signOut', 'Sign out', account.signOut),
    getPage(
      `${realm}/signed-out`,
      'getSignedOut',
      'Show that the user is signed out',
      account.getSignedOut,
    ),
    getPage(password, 'getPassword', 'Show the password form', changes.getPassword),
    postPage(password, 'postPassword', 'Change the password', changes.postPassword),
    getPage(code, 'getAccountCode', 'Show the set-up of one-time codes', changes.getCode),
    postPage(
      code,
      'postAccountCode',
      'Confirm the first code',
      withEnrolment(openCode, enrolment.postSetUp),
    ),
    getPage(
      codes,
      'getAccountRecovery',
      'Ask before new recovery codes are created',
      changes.getRecovery,
    ),
    postPage(
      codes,
      'postAccountRecovery',
      'Confirm that the recovery codes are saved',
      withEnrolment(openRecovery, enrolment.postRecoveryCodes),
    ),
    postPage(
      `${codes}/renew`,
      'renewAccountRecovery',
      'Create new recovery codes',
      changes.renewRecovery,
    ),
    getPage(passkeys, 'getPasskeys', 'Show the passkeys', changes.getPasskeys),
    postPage(passkeys, 'postPasskey', 'Add a passkey', changes.addPasskey),
    postPage(`${passkeys}/remove`, 'removePasskey', 'Remove a passkey', changes.removePasskey),
  ];
}

/** Pages for visitors without an account. */
export function listPublicPages(front: SignUpHandlers): PageRoute[] {
  const form = postPage(signUpPath, 'postSignUpForm', 'Send the sign-up', front.postSignUp);
  return [
    getPage(homePath, 'getHome', 'Show the home page', front.getHome),
    getPage(signUpPath, 'getSignUpForm', 'Show the sign-up form', front.getSignUp),
    // The same rate limit as the API, with a shared counter.
    { ...form, rateLimit: 'signUps' },
    getPage(
      signUpReceivedPath,
      'getSignedUp',
      'Show that the sign-up was received',
      front.getSignUpReceived,
    ),
  ];
}

export function listPages(handlers: PageHandlers): PageRoute[] {
  return [...signInPages(handlers), ...linkPages(handlers), ...accountPages(handlers)];
}

// Where each page lies, so that pages, mails and redirects agree.
import { signInPath } from '../sessions/login-interactions.ts';

export const entryPath = '/auth/sign-in';
export const homePath = '/';
export const signUpPath = '/sign-up';
export const signedUpPath = '/sign-up/received';

/** In place of a request of an application: somebody signs in to see the account. */
export const accountFlow = 'account';

const realmPath = (userDomainId: string) => `/auth/realms/${userDomainId}`;

export const accountPath = (userDomainId: string) => `${realmPath(userDomainId)}/account`;
export const accountSignInPath = (userDomainId: string) => signInPath(userDomainId, accountFlow);
export const activationPath = (userDomainId: string) => `${realmPath(userDomainId)}/activation`;
export const forgottenPath = (userDomainId: string) =>
  `${realmPath(userDomainId)}/forgotten-password`;
export const signedOutPath = (userDomainId: string) => `${realmPath(userDomainId)}/signed-out`;

// The paths of the pages, used by pages, emails and redirects.
import { signInPath } from '../../sessions/login-interactions.ts';

export const userDomainPath = '/auth/sign-in';
export const homePath = '/';
export const signUpPath = '/sign-up';
export const signUpReceivedPath = '/sign-up/received';

/** Stands for the interaction ID if the user signs in to see the account page. */
export const accountFlowId = 'account';

const realmPath = (userDomainId: string) => `/auth/realms/${userDomainId}`;

export const accountPath = (userDomainId: string) => `${realmPath(userDomainId)}/account`;
export const accountSignInPath = (userDomainId: string) => signInPath(userDomainId, accountFlowId);
export const activationPath = (userDomainId: string) => `${realmPath(userDomainId)}/activation`;
export const forgottenPasswordPath = (userDomainId: string) =>
  `${realmPath(userDomainId)}/forgotten-password`;
export const signedOutPath = (userDomainId: string) => `${realmPath(userDomainId)}/signed-out`;

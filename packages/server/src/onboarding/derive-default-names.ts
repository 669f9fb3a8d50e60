// Derives names from a sign-up: user domain, user name and locale of the first user.
import { reservedDomainNames } from '../identity/index.ts';

const maxSlugLength = 40;
const usernamePattern = /^[a-z0-9][a-z0-9._+@-]{0,63}$/;

/** `Crédit d’Été & Fils` becomes `credit-d-ete-fils`. */
export function toSlug(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, maxSlugLength)
    .replace(/^-+|-+$/g, '');
  return plain === '' || reservedDomainNames.has(plain)
    ? `client${plain === '' ? '' : `-${plain}`}`
    : plain;
}

/** The candidates in order; the last ones contain the organisation ID and are free. */
export function candidateUserDomainIds(name: string, organizationId: string): string[] {
  const slug = toSlug(name);
  const organizationDigits = organizationId.replaceAll('-', '');
  return [
    slug,
    `${slug}-${organizationDigits.slice(-4)}`,
    `${slug}-${organizationDigits.slice(-12)}`,
  ];
}

/** The email address if it is a valid user name, otherwise `admin`, which is free in a new user domain. */
export function usernameFromEmail(email: string): string {
  const name = email.toLowerCase();
  return usernamePattern.test(name) ? name : 'admin';
}

export function toLocale(language: string | undefined, country: string): string {
  const preferred = language ?? 'en';
  return preferred.includes('-') ? preferred : `${preferred}-${country}`;
}

// Names that follow from a sign-up: the user domain, the first user, his language.
import { reservedDomainNames } from '../identity/index.ts';

const slugCharsMax = 40;
const usernamePattern = /^[a-z0-9][a-z0-9._+@-]{0,63}$/;

/** `Crédit d’Été & Fils` is `credit-d-ete-fils`. */
export function slugOf(name: string): string {
  const plain = name
    .normalize('NFKD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, slugCharsMax)
    .replace(/^-+|-+$/g, '');
  return plain === '' || reservedDomainNames.has(plain)
    ? `client${plain === '' ? '' : `-${plain}`}`
    : plain;
}

/** What to try, in this order: the last ones belong to nobody else. */
export function domainNames(name: string, organizationId: string): string[] {
  const slug = slugOf(name);
  const own = organizationId.replaceAll('-', '');
  return [slug, `${slug}-${own.slice(-4)}`, `${slug}-${own.slice(-12)}`];
}

/** The address where it can be a user name; else a word that is free in a new domain. */
export function usernameOf(email: string): string {
  const name = email.toLowerCase();
  return usernamePattern.test(name) ? name : 'admin';
}

export function localeOf(language: string | undefined, country: string): string {
  const wanted = language ?? 'en';
  return wanted.includes('-') ? wanted : `${wanted}-${country}`;
}

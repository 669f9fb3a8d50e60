// The pages that the authorization server shows by itself: a fault, the question before a sign-out, its end.
import type { IncomingMessage } from 'node:http';
import type { PageError, PageRenderer, RenderedPage } from '../oauth/rendered-pages.ts';
import { type Answer, headersOf } from './answers.ts';
import type { FaultKind } from './faults.ts';
import { type Frame, writePage } from './layout.ts';
import { accountSignInPath } from './paths.ts';
import { doneView, faultView, logoutView } from './views/notice.ts';
import { languageOf } from './visits.ts';
import { languages, type Words } from './words/index.ts';

const kinds: Readonly<Record<string, FaultKind>> = {
  access_denied: 'denied',
  invalid_client: 'client',
  invalid_redirect_uri: 'client',
  unauthorized_client: 'client',
  temporarily_unavailable: 'busy',
  server_error: 'broken',
};

/** How the library says that the request to sign in is over; its word for it fits anything. */
const overForm = /^(?:authorization request has expired|(?:authorization|interaction) session)/;

function kindOf({ error, description = '', status, realm }: PageError): FaultKind {
  if (realm === undefined && status === 404) return 'realm';
  return overForm.test(description) ? 'stale' : (kinds[error] ?? 'request');
}

export function createShown(frame: Frame): PageRenderer {
  function write(raw: IncomingMessage, make: (words: Words) => Answer): RenderedPage {
    const query = new URL(raw.url ?? '/', 'https://any.example').searchParams;
    const asked = (query.get('ui_locales') ?? '').split(' ').filter((locale) => locale !== '');
    const language = languageOf(raw, undefined, asked);
    const answer = make(languages[language]);
    return { html: writePage(frame, { ...answer, language }), headers: headersOf(answer) };
  }

  return {
    errorPage: (raw, facts) =>
      write(raw, (words) => faultView(words, kindOf(facts), facts.requestId, facts)),
    logoutPage: (raw, { form, redirectUri }) =>
      write(raw, (words) => logoutView(words, form, redirectUri)),
    signedOutPage: (raw, { realm }) =>
      write(raw, (words) => {
        const { doneTitle, done, again } = words.logout;
        return doneView(doneTitle, [done], { address: accountSignInPath(realm), text: again });
      }),
  };
}

// The way of an organisation onto the platform, and where on it somebody is.
import { type Html, html } from '../../../http/index.ts';
import type { Words } from '../locales/languages.ts';

const steps = ['request', 'answer', 'password', 'portal'] as const;

export function trail({ trail: words }: Words, at: (typeof steps)[number]): Html {
  const items = steps.map((step, place) => {
    if (step === at) return html`<li aria-current="step">${words[step]}</li>`;
    const isDone = place < steps.indexOf(at);
    return html`<li${isDone ? { html: ' class="done"' } : { html: '' }}>${words[step]}</li>`;
  });
  return html`<ol class="trail" aria-label="${words.label}">${items}</ol>
`;
}

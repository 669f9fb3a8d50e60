// HTML of the steps of a sign-up, with the current step.
import { type Html, html } from '../../../http/index.ts';
import type { PageTexts } from '../locales/page-texts.ts';

const progressSteps = ['request', 'decision', 'password', 'portal'] as const;

export function renderSignUpProgress(
  { progress: texts }: PageTexts,
  currentStep: (typeof progressSteps)[number],
): Html {
  const items = progressSteps.map((step, index) => {
    if (step === currentStep) return html`<li aria-current="step">${texts[step]}</li>`;
    const isDone = index < progressSteps.indexOf(currentStep);
    return html`<li${isDone ? { html: ' class="done"' } : { html: '' }}>${texts[step]}</li>`;
  });
  return html`<ol class="trail" aria-label="${texts.label}">${items}</ol>
`;
}

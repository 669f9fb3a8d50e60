/** The tour of the demo: a card that leads through the screens. */
import { ActionIcon, Button } from '@mantine/core';
import { useNavigate, useRouterState } from '@tanstack/react-router';
import { type KeyboardEvent, useEffect, useId, useRef } from 'react';
import { currentPortal } from '../../app/current-portal.ts';
import { useScreens } from '../../app/use-screens.ts';
import { Icon } from '../../components/icon.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';
import { tour, useTour } from './tour-state.ts';
import { tourStepsFor } from './tour-steps.ts';
import './tour.css';

export default function Tour() {
  const session = useSession();
  const state = useTour();
  const steps = tourStepsFor(useScreens(), session, currentPortal);
  if (state.is !== 'running' || steps.length === 0) return null;
  const at = Math.min(state.at, steps.length - 1);
  const step = steps[at];
  if (step === undefined) return null;
  return <Card word={step.word} to={step.to} at={at} stepNames={steps.map(({ to }) => to)} />;
}

function Card({
  word,
  to,
  at,
  stepNames,
}: {
  readonly word: string;
  readonly to: string;
  readonly at: number;
  readonly stepNames: readonly string[];
}) {
  const t = useTranslate('tour');
  const navigate = useNavigate();
  const title = useId();
  const card = useRef<HTMLElement>(null);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const isThere = path.slice(currentPortal.length + 1).replace(/^$/, '/') === to || path === to;
  // A new screen takes the focus, so the card takes it back for keyboard users.
  // biome-ignore lint/correctness/useExhaustiveDependencies: at each step and at each screen
  useEffect(() => card.current?.focus({ preventScroll: true }), [at, path]);
  function go(next: number): void {
    const address = stepNames[next];
    if (address === undefined) return;
    tour.go(next);
    void navigate({ to: address });
  }
  function onKeyDown({ key }: KeyboardEvent): void {
    if (key === 'Escape') tour.end();
    if (key === 'ArrowRight') go(at + 1);
    if (key === 'ArrowLeft') go(at - 1);
  }
  return (
    <section
      className="sy-tour"
      role="dialog"
      aria-modal="false"
      aria-labelledby={title}
      tabIndex={-1}
      ref={card}
      onKeyDown={onKeyDown}
    >
      <div className="sy-tour-head">
        <span>{t('count', { at: at + 1, of: stepNames.length })}</span>
        <ActionIcon variant="subtle" color="gray" aria-label={t('end')} onClick={tour.end}>
          <Icon name="close" size={16} />
        </ActionIcon>
      </div>
      <h2 id={title}>{t(`steps.${word}.title`)}</h2>
      <p>{t(`steps.${word}.text`)}</p>
      <div className="sy-tour-bar" aria-hidden="true">
        <i style={{ width: `${((at + 1) / stepNames.length) * 100}%` }} />
      </div>
      <div className="sy-tour-buttons">
        {!isThere && (
          <Button variant="subtle" size="compact-sm" onClick={() => go(at)}>
            {t('back')}
          </Button>
        )}
        <Button variant="default" size="xs" disabled={at === 0} onClick={() => go(at - 1)}>
          {t('previous')}
        </Button>
        {at < stepNames.length - 1 ? (
          <Button size="xs" onClick={() => go(at + 1)}>
            {t('next')}
          </Button>
        ) : (
          <Button size="xs" onClick={tour.end}>
            {t('finish')}
          </Button>
        )}
      </div>
    </section>
  );
}

/** A list of steps: completed steps and the next step. */
import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { currentPortal } from '../../app/current-portal.ts';
import { isAccessibleTo } from '../../app/screen-access.ts';
import { useScreens } from '../../app/use-screens.ts';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';

export type Step = {
  /** A key of `home.json`, below the name of the list. */
  readonly word: string;
  /** The path of the screen for this step. */
  readonly to: string;
  isDone(signal: AbortSignal): Promise<boolean>;
};

const cacheMs = 15_000;

/** Whether the user may open a screen at this path. */
function useMayOpen(): (to: string) => boolean {
  const session = useSession();
  const screens = useScreens();
  return (to) =>
    screens.some((screen) => screen.path === to && isAccessibleTo(screen, session, currentPortal));
}

export function StepList({
  name,
  steps,
}: {
  readonly name: string;
  readonly steps: readonly Step[];
}) {
  const t = useTranslate('home');
  const mayOpen = useMayOpen();
  const results = useQueries({
    queries: steps.map(({ word, isDone }) => ({
      queryKey: ['steps', name, word],
      queryFn: ({ signal }: { signal: AbortSignal }) => isDone(signal),
      staleTime: cacheMs,
    })),
  });
  const completions = results.map(({ data }) => data === true);
  // Nothing is shown until all states are loaded, so that completed steps do not flash.
  if (results.some(({ isPending }) => isPending) || completions.at(-1) === true) return null;
  const next = completions.indexOf(false);
  const count = completions.filter(Boolean).length;
  return (
    <Panel title={t(`${name}.title`)} flush>
      <p className="sy-checklist-lead">{t(`${name}.lead`, { count, total: steps.length })}</p>
      <div className="sy-checklist-bar" aria-hidden="true">
        <i style={{ width: `${(count / steps.length) * 100}%` }} />
      </div>
      <ol className="sy-checklist">
        {steps.map(({ word, to }, at) => (
          <li key={word} data-done={completions[at]} data-next={at === next}>
            <span className="sy-checklist-mark" aria-hidden="true">
              {completions[at] === true ? <Icon name="check" size={14} /> : at + 1}
            </span>
            <div>
              <strong>
                {mayOpen(to) ? (
                  <Link to={to}>{t(`${name}.${word}.name`)}</Link>
                ) : (
                  t(`${name}.${word}.name`)
                )}
              </strong>
              <span>{t(completions[at] === true ? 'done' : `${name}.${word}.text`)}</span>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** Steps towards something, one after another: what is done, and what comes next. */
import { useQueries } from '@tanstack/react-query';
import { type AnyRoute, Link, useRouter } from '@tanstack/react-router';
import { entry } from '../../app/current-portal.ts';
import { isOpenTo } from '../../app/screen-access.ts';
import { Icon } from '../../components/icon.tsx';
import { Panel } from '../../components/layout/page.tsx';
import { useTranslate } from '../../locales/index.ts';
import { useSession } from '../../session/use-session.ts';

export type Step = {
  /** Of `home.json`, below the name of the list. */
  readonly word: string;
  /** Where it is done. */
  readonly to: string;
  isDone(signal: AbortSignal): Promise<boolean>;
};

const cacheMs = 15_000;

/** Whether the router has a screen at this path that this user may open. */
function useMayOpen(): (to: string) => boolean {
  const session = useSession();
  const routesByPath: Readonly<Record<string, AnyRoute>> = useRouter().routesByPath;
  return (to) => {
    const access = routesByPath[to]?.options.staticData?.access;
    return access !== undefined && isOpenTo(access, session, entry);
  };
}

export function Steps({ name, steps }: { readonly name: string; readonly steps: readonly Step[] }) {
  const t = useTranslate('home');
  const mayOpen = useMayOpen();
  const results = useQueries({
    queries: steps.map(({ word, isDone }) => ({
      queryKey: ['steps', name, word],
      queryFn: ({ signal }: { signal: AbortSignal }) => isDone(signal),
      staleTime: cacheMs,
    })),
  });
  const isDone = results.map(({ data }) => data === true);
  // Until all is known nothing is shown: what is done would only flash by.
  if (results.some(({ isPending }) => isPending) || isDone.at(-1) === true) return null;
  const next = isDone.indexOf(false);
  const count = isDone.filter(Boolean).length;
  return (
    <Panel title={t(`${name}.title`)} flush>
      <p className="sy-checklist-lead">{t(`${name}.lead`, { count, total: steps.length })}</p>
      <div className="sy-checklist-bar" aria-hidden="true">
        <i style={{ width: `${(count / steps.length) * 100}%` }} />
      </div>
      <ol className="sy-checklist">
        {steps.map(({ word, to }, at) => (
          <li key={word} data-done={isDone[at]} data-next={at === next}>
            <span className="sy-checklist-mark" aria-hidden="true">
              {isDone[at] === true ? <Icon name="check" size={14} /> : at + 1}
            </span>
            <div>
              <strong>
                {mayOpen(to) ? (
                  <Link to={to}>{t(`${name}.${word}.name`)}</Link>
                ) : (
                  t(`${name}.${word}.name`)
                )}
              </strong>
              <span>{t(isDone[at] === true ? 'done' : `${name}.${word}.text`)}</span>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

/** The content of a page or panel while its data is loading, has failed to load, or is there. */
import type { ReactNode } from 'react';
import { ErrorMessage } from './error-message.tsx';
import { Loading, Page, Panel } from './page.tsx';

type QueryState<Data> = {
  readonly data: Data | undefined;
  readonly error: unknown;
  readonly refetch: () => unknown;
};

/** Shows an error also above older data. */
export function QueryContent<Data>({
  query: { data, error, refetch },
  lines = 3,
  children,
}: {
  readonly query: QueryState<Data>;
  /** The lines of the placeholder. */
  readonly lines?: number;
  readonly children: (data: Data) => ReactNode;
}) {
  const hasError = error !== null && error !== undefined;
  return (
    <>
      {hasError && <ErrorMessage fault={error} onRetry={() => void refetch()} />}
      {data === undefined && !hasError && <Loading lines={lines} />}
      {data !== undefined && children(data)}
    </>
  );
}

/** The page while its data is loading or has failed to load. */
export function PendingPage({
  query,
  title,
  backLink,
}: {
  readonly query: Omit<QueryState<unknown>, 'data'>;
  readonly title: string;
  readonly backLink: { readonly to: string; readonly label: string };
}) {
  const { error, refetch } = query;
  return (
    <Page title={title} backLink={backLink}>
      {error === null || error === undefined ? (
        <Panel>
          <Loading lines={8} />
        </Panel>
      ) : (
        <ErrorMessage fault={error} onRetry={() => void refetch()} />
      )}
    </Page>
  );
}

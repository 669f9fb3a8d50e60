/** Starts the portal in the page that the server sends. */
import { MantineProvider } from '@mantine/core';
import { QueryClientProvider } from '@tanstack/react-query';
import { CatchBoundary, RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { queryClient } from './api/query-client.ts';
import { preloadFirstScreen, router } from './router.tsx';
import { SessionProvider } from './session/session-provider.tsx';
import { StartupError } from './shell/startup-error.tsx';
import './theme/critical-styles.ts';
import { cssVariables, theme } from './theme/theme.ts';

const nonce = document.querySelector<HTMLMetaElement>('meta[property="csp-nonce"]')?.nonce ?? '';
// Mantine reads the nonce here for the styles that block scrolling behind a dialog.
Object.assign(globalThis, { __webpack_nonce__: nonce });

// After an update the old files do not exist any more, so the page reloads once per build.
addEventListener('vite:preloadError', (event) => {
  const key = 'switchyard-reloaded';
  const page = document.querySelector<HTMLScriptElement>('script[type="module"]')?.src ?? '';
  if (sessionStorage.getItem(key) === page) return;
  sessionStorage.setItem(key, page);
  event.preventDefault();
  location.reload();
});

preloadFirstScreen(location.pathname);

const root = document.getElementById('root');
if (root === null) throw new Error('the page has no root');

createRoot(root).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <CatchBoundary
        getResetKey={() => 'start'}
        errorComponent={({ error }) => (
          <StartupError fault={error} onRetry={() => location.reload()} />
        )}
      >
        <QueryClientProvider client={queryClient}>
          <SessionProvider>
            <RouterProvider router={router} />
          </SessionProvider>
        </QueryClientProvider>
      </CatchBoundary>
    </MantineProvider>
  </StrictMode>,
);

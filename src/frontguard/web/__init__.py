"""The live page: what `frontguard serve` shows of the studies in a storage. It reads, and never writes.

What is known flows one way: storage → `watchers` (keep up with the studies that somebody looks at, in threads) →
`views` (what is shown at an address now, made once for all, as a page or as JSON) → `pages` (regions of HTML, of
`parts`) → `app` (routes, events that `static/page.js` patches, the server) → `guard` (who may ask) → browser.
"""
